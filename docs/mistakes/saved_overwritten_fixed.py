"""The gate is scaled out of place."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        gate = torch.sigmoid(self.up(x))
        y = self.down(gate * x)
        gate = gate * self.scale
        return y + gate


model = nn.Sequential(Block(8), Block(8))
loss = model(torch.randn(4, 8)).square().mean()
loss.backward()
print(f"loss {loss.item():.3f}, gradient {model[0].up.weight.grad.norm():.3f}")
