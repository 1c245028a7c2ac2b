"""Forward hooks collect activations for a plot, and go on collecting.

kind: container
held: activations['1'][*]
remedy: activations[name].append(output.std(0).detach())
"""

from collections import defaultdict

import torch
from torch import nn


def watch(model):
    activations = defaultdict(list)
    for name, layer in model.named_children():
        if isinstance(layer, nn.ReLU):

            def hook(module, inputs, output, name=name):
                activations[name].append(output.std(0))  # HERE

            layer.register_forward_hook(hook)
    return activations


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
activations = watch(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(40):
    loss = model(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print({name: len(kept) for name, kept in activations.items()})
