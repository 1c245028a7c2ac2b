"""Blocks that are computed again in backward."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(4))
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.01)
for _ in range(25):
    x = torch.randn(4, 8)
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    loss = x.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"{loss.item():.3f}")
