"""A list as a default argument: the same one at every call.

kind: container
held: kept[*]
remedy: kept.append(value.item())
"""

import torch
from torch import nn


def log(value, kept=[]):  # noqa: B006
    kept.append(value)  # HERE
    return sum(v.item() for v in kept[-10:]) / len(kept[-10:])


torch.manual_seed(0)
model, probe = nn.Linear(8, 1), torch.randn(16, 8)
for _ in range(40):
    model(torch.randn(4, 8)).square().mean().backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.01 * p.grad
    model.zero_grad()
    mean = log(model(probe).square().mean())

print(f"{mean:.3f}")
