"""A masked autoregressive flow fits a distribution, and samples from it."""

import torch
from nflows.distributions import StandardNormal
from nflows.flows import Flow
from nflows.nn.nets import ResidualNet
from nflows.transforms import (
    CompositeTransform,
    MaskedAffineAutoregressiveTransform,
    PiecewiseRationalQuadraticCouplingTransform,
    ReversePermutation,
)

torch.manual_seed(0)
data = torch.randn(256, 2) * torch.tensor([0.5, 2.0]) + torch.tensor([1.0, -1.0])


def context(inputs, outputs):
    return ResidualNet(inputs, outputs, hidden_features=8, num_blocks=1)


transform = CompositeTransform(
    [
        MaskedAffineAutoregressiveTransform(features=2, hidden_features=8),
        ReversePermutation(features=2),
        PiecewiseRationalQuadraticCouplingTransform(
            torch.tensor([1, 0]), context, tails="linear", tail_bound=4.0
        ),
    ]
)
flow = Flow(transform, StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
losses = []
for _ in range(30):
    loss = -flow.log_prob(data).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
assert flow.sample(10).shape == (10, 2)
