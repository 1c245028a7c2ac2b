"""One step for eight micro-batches; losses are kept as numbers."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters())
losses, total = [], 0.0
for step in range(64):
    loss = model(torch.randn(4, 8)).square().mean() / 8
    loss.backward()
    losses.append(loss.item())
    total += loss.item()
    if step % 8 == 7:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

print(f"{total:.3f} {losses[-1]:.3f}")
