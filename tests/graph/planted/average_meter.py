"""The meter that everybody copies gets losses with their graphs.

kind: sum
held: meters['loss'].sum
remedy: self.sum += (value * n).item()
"""

import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n  # HERE
        self.count += n

    @property
    def average(self):
        return self.sum / self.count


def train(model, batches, optimizer):
    meters = {"loss": AverageMeter(), "size": AverageMeter()}
    for x, y in batches:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meters["loss"].update(loss, len(x))
        meters["size"].update(len(x))
    return meters


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
batches = [(torch.randn(4, 8), torch.randn(4, 1)) for _ in range(40)]
meters = train(model, batches, torch.optim.SGD(model.parameters(), lr=0.01))
print(f"{meters['loss'].average:.3f}")
