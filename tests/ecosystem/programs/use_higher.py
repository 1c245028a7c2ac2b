"""Gradients through the steps of an optimizer: a learnt learning rate."""

import higher
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 3)
y = x.sum(1, keepdim=True)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rate = torch.tensor(0.1, requires_grad=True)
options = {"override": {"lr": [rate]}, "copy_initial_weights": False}
with higher.innerloop_ctx(net, optimizer, **options) as (inner, steps):
    for _ in range(3):
        steps.step(nn.functional.mse_loss(inner(x), y))
    outer = nn.functional.mse_loss(inner(x), y)
    outer.backward()
assert rate.grad is not None
assert rate.grad < 0
assert all(p.grad is not None for p in net.parameters())
