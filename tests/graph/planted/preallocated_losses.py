"""Validation losses are written into a tensor that was made for them, and bring their graphs.

kind: state
held: curve
remedy: curve[epoch] = loss.detach()
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 8), torch.randn(64, 1)
curve = torch.zeros(40)
for epoch in range(40):
    optimizer.zero_grad()
    (model(x[:48]) - y[:48]).square().mean().backward()
    optimizer.step()
    loss = (model(x[48:]) - y[48:]).square().mean()
    curve[epoch] = loss  # HERE

print(f"{curve[-1]:.3f}")
