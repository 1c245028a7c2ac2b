"""MAML: inner steps that are differentiated through, over several tasks for each outer step."""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(6):
    outer = 0.0
    for _ in range(3):
        x, phase = torch.rand(10, 1) * 6, torch.rand(1) * 3
        fast = dict(model.named_parameters())
        for _ in range(4):
            out = functional_call(model, fast, (x,))
            loss = (out - torch.sin(x + phase)).square().mean()
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: p - 0.01 * g for (n, p), g in zip(fast.items(), grads, strict=True)}
        out = functional_call(model, fast, (x,))
        outer = outer + (out - torch.sin(x + phase)).square().mean()
    optimizer.zero_grad()
    outer.backward()
    optimizer.step()

print(f"{outer.item():.3f}")
