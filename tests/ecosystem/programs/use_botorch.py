"""Bayesian optimisation: a process is fitted, an acquisition function is maximised."""

import torch
from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
x = torch.rand(10, 2, dtype=torch.float64)
y = -((x - 0.4) ** 2).sum(1, keepdim=True)
model = SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
candidate, value = optimize_acqf(
    LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=3, raw_samples=16
)
assert candidate.shape == (1, 2)
assert ((candidate - 0.4).abs() < 0.3).all(), candidate
batch, _ = optimize_acqf(
    qLogExpectedImprovement(model, y.max()), bounds, q=2, num_restarts=2, raw_samples=8
)
assert batch.shape == (2, 2)
