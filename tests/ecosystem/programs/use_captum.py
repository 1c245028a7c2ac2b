"""Attributions to inputs and to a layer; the parts sum to what they explain."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    Saliency,
)
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
x, zero = torch.randn(4, 6), torch.zeros(4, 6)
gradients = IntegratedGradients(model)
parts, delta = gradients.attribute(x, zero, target=1, return_convergence_delta=True)
assert parts.shape == (4, 6)
assert delta.abs().max() < 1e-2
change = (model(x) - model(zero))[:, 1].detach()
torch.testing.assert_close(
    DeepLift(model).attribute(x, zero, target=1).sum(1).detach(), change, rtol=1e-3, atol=1e-4
)
assert Saliency(model).attribute(x.clone().requires_grad_(), target=1).shape == (4, 6)
assert FeatureAblation(model).attribute(x, target=1).shape == (4, 6)
assert GradientShap(model).attribute(x, baselines=zero, target=1).shape == (4, 6)
assert LayerConductance(model, model[1]).attribute(x, target=1).shape == (4, 8)
convolution = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
image = torch.randn(2, 1, 8, 8)
assert LayerGradCam(convolution, convolution[0]).attribute(image, target=0).shape == (2, 1, 6, 6)
