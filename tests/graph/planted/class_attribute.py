"""Attention maps of all layers go into a list of the class.

kind: container
held: Attention.maps[*]
remedy: Attention.maps.append(weights.detach())
"""

import torch
from torch import nn


class Attention(nn.Module):
    maps = []  # noqa: RUF012

    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.project(x).chunk(3, -1)
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        Attention.maps.append(weights)  # HERE
        return x + weights @ v


torch.manual_seed(0)
model = nn.Sequential(Attention(8), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(40):
    with torch.no_grad():
        target = torch.randn(2, 5, 1)
    loss = (model(torch.randn(2, 5, 8)) - target).square().mean()
    model(torch.randn(1, 3, 8))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(len(Attention.maps))
