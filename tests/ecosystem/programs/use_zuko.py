"""A Bayesian flow, whose weights are drawn for each step, fits a distribution."""

import torch
import zuko
from zuko.bayesian import BayesianModel

torch.manual_seed(0)
data = torch.randn(128, 2) * torch.tensor([0.5, 2.0]) + torch.tensor([1.0, -1.0])
flow = zuko.flows.NSF(2, transforms=2, hidden_features=[16])
bayesian = BayesianModel(flow)
optimizer = torch.optim.Adam(bayesian.parameters(), lr=1e-2)
losses = []
for _ in range(20):
    with bayesian.reparameterize() as sampled:
        loss = -sampled().log_prob(data).mean() + 1e-4 * bayesian.kl_divergence()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
assert flow().rsample((10,)).shape == (10, 2)
