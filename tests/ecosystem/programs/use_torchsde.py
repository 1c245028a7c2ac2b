"""A stochastic differential equation is solved, and its parameters are trained."""

import torch
import torchsde
from torch import nn

torch.manual_seed(0)


class Walk(nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.pull = nn.Linear(2, 2)
        self.size = nn.Parameter(torch.full((2,), 0.1))

    def f(self, t, y):
        return self.pull(y)

    def g(self, t, y):
        return self.size.expand_as(y)


walk = Walk()
start, times = torch.ones(16, 2), torch.linspace(0, 1, 5)
optimizer = torch.optim.Adam(walk.parameters(), lr=0.05)
losses = []
for _ in range(10):
    loss = torchsde.sdeint(walk, start, times, dt=0.1, method="euler")[-1].pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
walk.sde_type = "stratonovich"
walk.zero_grad()
torchsde.sdeint_adjoint(walk, start, times, dt=0.1, method="midpoint")[-1].sum().backward()
assert all(p.grad is not None for p in walk.parameters())
