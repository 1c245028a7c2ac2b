"""Keys of a slow copy of the encoder wait in a tensor that is written into, without recording."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(8, 4)
slow = copy.deepcopy(encoder).requires_grad_(False)
queue, place = nn.functional.normalize(torch.randn(4, 32), dim=0), 0
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
for _ in range(50):
    x = torch.randn(4, 8)
    query = nn.functional.normalize(encoder(x), dim=1)
    with torch.no_grad():
        for p, q in zip(encoder.parameters(), slow.parameters(), strict=True):
            q.mul_(0.99).add_(p, alpha=0.01)
        key = nn.functional.normalize(slow(x), dim=1)
    logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.clone()], 1)
    loss = nn.functional.cross_entropy(logits / 0.2, torch.zeros(4, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue[:, place : place + 4] = key.T
    place = (place + 4) % 32

print(f"{loss.item():.3f}")
