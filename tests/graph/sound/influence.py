"""One graph of a gradient, walked again and again: products with a Hessian, conjugate gradients."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
params = list(model.parameters())
x, y = torch.randn(64, 6), torch.randn(64, 1)
loss = nn.functional.mse_loss(model(x), y) + sum(0.5 * p.square().sum() for p in params)
grads = torch.autograd.grad(loss, params, create_graph=True)
flat = torch.cat([g.flatten() for g in grads])


def product(vector):
    found = torch.autograd.grad(flat @ vector, params, retain_graph=True)
    return torch.cat([f.flatten() for f in found])


b = flat.detach()
v, r = torch.zeros_like(b), b.clone()
p = r.clone()
for _ in range(40):
    hp = product(p)
    alpha = (r @ r) / (p @ hp)
    v, rest = v + alpha * p, r - alpha * hp
    p, r = rest + (rest @ rest) / (r @ r) * p, rest

print(f"{r.norm().item() / b.norm().item():.4f}")
