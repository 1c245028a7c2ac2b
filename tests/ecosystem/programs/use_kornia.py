"""Differentiable filters, colours, geometry and augmentations of images."""

import kornia
import torch
from kornia import augmentation

torch.manual_seed(0)
image = torch.rand(2, 3, 24, 24, requires_grad=True)
blurred = kornia.filters.gaussian_blur2d(image, (5, 5), (1.5, 1.5))
edges = kornia.filters.sobel(blurred)
edges.mean().backward()
assert image.grad.shape == image.shape
plain = image.detach()
torch.testing.assert_close(
    kornia.color.hsv_to_rgb(kornia.color.rgb_to_hsv(plain)), plain, rtol=1e-3, atol=1e-4
)
angle = torch.tensor([30.0, 45.0], requires_grad=True)
kornia.geometry.transform.rotate(plain, angle).pow(2).sum().backward()
assert torch.isfinite(angle.grad).all()
pipeline = augmentation.AugmentationSequential(
    augmentation.RandomHorizontalFlip(p=1.0),
    augmentation.RandomAffine(10.0, p=1.0),
    augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
)
assert pipeline(plain).shape == plain.shape
assert kornia.losses.ssim_loss(plain, plain, 5).abs() < 1e-5
