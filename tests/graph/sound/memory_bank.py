"""Contrast against a queue of earlier keys, which pass nothing on."""

from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(8, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
bank = deque(maxlen=32)
for _ in range(50):
    x = torch.randn(4, 8)
    query = nn.functional.normalize(encoder(x), dim=1)
    key = nn.functional.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1).detach()
    if bank:
        logits = torch.cat([(query * key).sum(1, keepdim=True), query @ torch.cat(list(bank)).T], 1)
        loss = nn.functional.cross_entropy(logits / 0.2, torch.zeros(4, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    bank.append(key)

print(f"{loss.item():.3f}")
