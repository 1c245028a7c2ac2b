"""Only the backbone is frozen."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(20, 32), nn.ReLU())
head = nn.Linear(32, 5)
model = nn.Sequential(backbone, head)
for parameter in backbone.parameters():
    parameter.requires_grad = False

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, labels = torch.randn(16, 20), torch.randint(0, 5, (16,))
for _ in range(3):
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.3f}")
