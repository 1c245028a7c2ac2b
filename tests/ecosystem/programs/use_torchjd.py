"""Jacobian descent: the gradients of two losses are aggregated without conflict."""

import torch
from torch import nn
from torchjd.aggregation import UPGrad
from torchjd.autojac import backward, jac_to_grad

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
aggregator = UPGrad()
x, y = torch.randn(32, 4), torch.randn(32, 2)
history = []
for _ in range(15):
    losses = ((model(x) - y) ** 2).mean(0)
    optimizer.zero_grad()
    backward(losses)
    jac_to_grad(model.parameters(), aggregator)
    optimizer.step()
    history.append(losses.sum().item())
assert history[-1] < history[0], history
