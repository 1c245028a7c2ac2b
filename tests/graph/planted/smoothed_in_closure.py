"""An exponential moving average of the loss, in a closure.

kind: average
held: value
remedy: value = decay * value + (1 - decay) * loss.item()
"""

import torch
from torch import nn


def smoother(decay=0.95):
    value = None

    def smoothed(loss):
        nonlocal value
        if value is None:
            value = loss.item()
        value = decay * value + (1 - decay) * loss  # HERE
        return float(value)

    return smoothed


torch.manual_seed(0)
model = nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
smoothed = smoother()
for _ in range(40):
    x = torch.randn(8, 10)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shown = smoothed(loss)

print(f"{shown:.3f}")
