"""Stochastic variational inference, and NUTS, on a regression with a known answer."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
from pyro.optim import ClippedAdam

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 40)
y = 2.0 * x + 0.5 + 0.1 * torch.randn(40)


def model(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 5.0))
    offset = pyro.sample("offset", dist.Normal(0.0, 5.0))
    sigma = pyro.sample("sigma", dist.LogNormal(-2.0, 0.5))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(slope * x + offset, sigma), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, ClippedAdam({"lr": 0.05}), Trace_ELBO())
losses = [svi.step(x, y) for _ in range(250)]
assert losses[-1] < losses[0]
median = guide.median()
assert abs(median["slope"].item() - 2.0) < 0.3, median
samples = Predictive(model, guide=guide, num_samples=5)(x)
assert samples["y"].shape == (5, 40)

mcmc = MCMC(NUTS(model, max_tree_depth=4), num_samples=25, warmup_steps=25, disable_progbar=True)
mcmc.run(x, y)
assert abs(mcmc.get_samples()["slope"].mean().item() - 2.0) < 0.4
