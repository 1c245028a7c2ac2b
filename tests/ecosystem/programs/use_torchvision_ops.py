"""The operations of torchvision that are compiled for PyTorch: suppression, pooled regions."""

import torch
from torchvision import ops

boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
assert ops.nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist() == [0, 2]
features = torch.randn(1, 2, 16, 16, requires_grad=True)
pooled = ops.roi_align(features, [boxes[:1]], output_size=4)
pooled.sum().backward()
assert pooled.shape == (1, 2, 4, 4)
