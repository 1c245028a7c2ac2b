"""A layer is made, but `forward` does not use it: its gradient stays `None`."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.first(x))
        return self.last(x)


model = Net()
loss = model(torch.randn(16, 8)).square().mean()
loss.backward()
print([name for name, p in model.named_parameters() if p.grad is None])
