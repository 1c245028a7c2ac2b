"""Functional optimizers, and a step that is differentiated through."""

import torch
import torchopt
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
net = nn.Linear(4, 1)
optimizer = torchopt.Adam(net.parameters(), lr=0.05)
losses = []
for _ in range(15):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]

scale = torch.tensor(1.0, requires_grad=True)
inner = torchopt.MetaSGD(net, lr=0.1)
inner.step(scale * nn.functional.mse_loss(net(x), y))
nn.functional.mse_loss(net(x), y).backward()
assert scale.grad is not None
assert scale.grad != 0
