"""Validation losses are summed up, and kept in a list, each with its whole graph."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total, history = 0.0, []

for _ in range(60):
    x, unseen = torch.randn(64, 64), torch.randn(512, 64)
    loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    check = (model(unseen) - unseen.mean(1, keepdim=True)).square().mean()
    total += check
    history.append(check)

print(f"validation: mean {total / 60:.4f}, last {history[-1]:.4f}")
