"""What each thread saw last lies in a `threading.local`: a list that nothing empties.

kind: container
held: local.outputs[*]
remedy: local.outputs.append(output.detach())
"""

import threading

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 2)
local = threading.local()


def remember(output):
    if not hasattr(local, "outputs"):
        local.outputs = []
    local.outputs.append(output)  # HERE


for _ in range(40):
    x = torch.randn(4, 8)
    remember(model(x).sigmoid())
    (model(x) - x[:, :2]).square().mean().backward()
    model.zero_grad()

print(len(local.outputs))
