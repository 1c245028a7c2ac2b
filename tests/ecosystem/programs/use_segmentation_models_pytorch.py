"""U-Net and FPN over a ResNet, with random weights: training and metrics."""

import segmentation_models_pytorch as smp
import torch

torch.manual_seed(0)
images = torch.randn(2, 3, 64, 64)
masks = (torch.rand(2, 1, 64, 64) > 0.5).float()
loss_of = smp.losses.DiceLoss(mode="binary")
for make in (smp.Unet, smp.FPN):
    model = make("resnet18", encoder_weights=None, in_channels=3, classes=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(4):
        logits = model(images)
        loss = loss_of(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
counts = smp.metrics.get_stats(logits.detach(), masks.long(), mode="binary", threshold=0.5)
assert 0 <= smp.metrics.iou_score(*counts, reduction="micro") <= 1
