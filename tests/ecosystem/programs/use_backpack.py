"""Gradients of each sample, variances and curvature beside the ordinary gradient."""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad, DiagGGNExact, Variance
from torch import nn

torch.manual_seed(0)
model = extend(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)))
loss_of = extend(nn.CrossEntropyLoss())
x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
loss = loss_of(model(x), y)
with backpack(BatchGrad(), Variance(), DiagGGNExact()):
    loss.backward()
for p in model.parameters():
    torch.testing.assert_close(p.grad_batch.sum(0), p.grad)
    assert p.variance.shape == p.shape
    assert (p.diag_ggn_exact >= 0).all()
