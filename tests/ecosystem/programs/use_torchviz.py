"""A drawing of the graph that a loss came from."""

import torch
from torch import nn
from torchviz import make_dot

model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
loss = model(torch.randn(2, 4)).sum()
source = make_dot(loss, params=dict(model.named_parameters())).source
for text in ("SumBackward0", "AddmmBackward0", "TanhBackward0", "AccumulateGrad", "0.weight"):
    assert text in source, (text, source)
make_dot(loss, params=dict(model.named_parameters()), show_attrs=True, show_saved=True)
