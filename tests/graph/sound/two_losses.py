"""Several losses over one trunk, one backward after the other."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(3))
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()])
for _ in range(30):
    features = trunk(torch.randn(8, 8))
    losses = [head(features).sub(k).square().mean() for k, head in enumerate(heads)]
    optimizer.zero_grad()
    for loss in losses[:-1]:
        loss.backward(retain_graph=True)
    losses[-1].backward()
    optimizer.step()

print(" ".join(f"{loss.item():.3f}" for loss in losses))
