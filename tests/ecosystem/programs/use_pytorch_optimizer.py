"""Optimizers that PyTorch does not have: each lowers a loss."""

import pytorch_optimizer
import torch
from torch import nn

x = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
y = x.sum(1, keepdim=True)
for name in ["lion", "lamb", "adabelief", "adamp", "adan", "sophiah", "came", "prodigy", "soap"]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = pytorch_optimizer.load_optimizer(name)(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(25):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward(create_graph=name == "sophiah")
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], (name, losses)
