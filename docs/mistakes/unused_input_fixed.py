"""The gradient by the tensor that the loss was computed from."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
image, label = torch.rand(1, 1, 28, 28, requires_grad=True), torch.tensor([3])

pixels = image.flatten(1)
loss = nn.functional.cross_entropy(model(pixels), label)
(gradient,) = torch.autograd.grad(loss, pixels)
print(f"steepest at pixel {gradient.abs().argmax().item()}")
