"""Residuals of a differential equation: derivatives by `grad`, graphs retained and used again."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
t = torch.linspace(0, 1, 20).reshape(-1, 1).requires_grad_()
weights = {"residual": 1.0, "start": 1.0}
for step in range(40):
    u = net(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    losses = {"residual": (ddu + u).square().mean(), "start": (u[0] - 1).square().mean()}
    if step % 5 == 0:
        for name, loss in losses.items():
            grads = torch.autograd.grad(
                loss, list(net.parameters()), retain_graph=True, allow_unused=True
            )
            norm = sum(g.norm().item() for g in grads if g is not None)
            weights[name] = 0.9 * weights[name] + 0.1 / (1e-3 + norm)
    optimizer.zero_grad()
    sum(weights[name] * loss for name, loss in losses.items()).backward()
    optimizer.step()

print(f"{losses['residual'].item():.3f}")
