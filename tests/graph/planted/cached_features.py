"""Features are cached for the training of a head; that the trunk records was forgotten.

kind: container
held: cache[*]
remedy: cache[i] = trunk(images[i : i + 1]).detach()
"""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Linear(8, 3)
optimizer = torch.optim.Adam(head.parameters())
images, labels = torch.randn(50, 1, 6, 6), torch.randint(0, 3, (50,))

cache = {}
for _ in range(2):
    for i in range(len(images)):
        if i not in cache:
            cache[i] = trunk(images[i : i + 1])  # HERE
        loss = nn.functional.cross_entropy(head(cache[i].detach()), labels[i : i + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"{loss.item():.3f}")
