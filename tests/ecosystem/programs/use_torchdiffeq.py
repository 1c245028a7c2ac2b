"""Solutions of differential equations; gradients through the solver and by the adjoint."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
times = torch.linspace(0, 2, 10)
start = torch.tensor([[1.0, 0.5]])
solution = odeint(lambda t, y: -y, start, times)
decayed = start * torch.exp(torch.tensor(-2.0))
torch.testing.assert_close(solution[-1], decayed, rtol=1e-3, atol=1e-4)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y)


field = Field()
gradients = []
for solve in (odeint, odeint_adjoint):
    field.zero_grad()
    solve(field, start, times, rtol=1e-5, atol=1e-6).pow(2).sum().backward()
    gradients.append([p.grad.clone() for p in field.parameters()])
for one, other in zip(*gradients, strict=True):
    torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)
optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
losses = []
for _ in range(10):
    loss = (odeint_adjoint(field, start, times, method="rk4") - solution).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
when, _ = odeint_event(
    lambda t, y: -torch.ones_like(y),
    torch.ones(1),
    torch.tensor(0.0),
    event_fn=lambda t, y: y - 0.5,
)
torch.testing.assert_close(when, torch.tensor(0.5), rtol=1e-3, atol=1e-3)
