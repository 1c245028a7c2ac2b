"""Weights are scaled in place while operations are being recorded."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
for layer in model:
    if isinstance(layer, nn.Linear):
        layer.weight *= 0.5
        layer.bias.zero_()

loss = model(torch.randn(4, 8)).square().mean()
loss.backward()
print(f"loss {loss.item():.3f}")
