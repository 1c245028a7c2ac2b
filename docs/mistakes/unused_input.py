"""The gradient by a tensor that the loss was not computed from: by a copy of it."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
image, label = torch.rand(1, 1, 28, 28, requires_grad=True), torch.tensor([3])

pixels = image.flatten(1)
loss = nn.functional.cross_entropy(model(pixels), label)
x = image.flatten(1)
(gradient,) = torch.autograd.grad(loss, x)
print(f"steepest at pixel {gradient.abs().argmax().item()}")
