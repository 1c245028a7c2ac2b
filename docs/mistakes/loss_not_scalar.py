"""`backward` on one loss per sample."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(10, 3)
x, labels = torch.randn(16, 10), torch.randint(0, 3, (16,))
weights = torch.rand(16)

loss = nn.functional.cross_entropy(model(x), labels, reduction="none") * weights
loss.backward()
print(f"loss {loss.mean().item():.3f}")
