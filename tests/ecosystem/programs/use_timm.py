"""ResNet, ViT and ConvNeXt with random weights, and the optimizers and schedules of timm."""

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

torch.manual_seed(0)
images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 5, (4,))
loss_of = LabelSmoothingCrossEntropy(0.1)
for name, options, optimizer_name in [
    ("resnet18", {}, "sgd"),
    ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}, "adamw"),
    ("convnext_atto", {}, "lamb"),
]:
    model = timm.create_model(name, pretrained=False, num_classes=5, **options)
    optimizer = create_optimizer_v2(model, opt=optimizer_name, lr=2e-3, weight_decay=0.01)
    schedule = CosineLRScheduler(optimizer, t_initial=10)
    losses = []
    for step in range(6):
        loss = loss_of(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step)
        losses.append(loss.item())
    assert losses[-1] < losses[0], (name, losses)
    model.eval()
    with torch.no_grad():
        assert model(images).shape == (4, 5)
        features = model.forward_features(images)
    assert torch.isfinite(features).all()
