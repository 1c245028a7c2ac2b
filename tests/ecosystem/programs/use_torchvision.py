"""Models train; transforms of both generations; boxes and non-maximum suppression."""

import numpy
import torch
import torchvision
from PIL import Image
from torchvision import models, ops, transforms
from torchvision.transforms import v2

torch.manual_seed(0)
images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 5, (4,))
for make in (models.resnet18, models.mobilenet_v3_small):
    model = make(weights=None, num_classes=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for _ in range(6):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses

picture = Image.fromarray(numpy.arange(48 * 40 * 3, dtype=numpy.uint8).reshape(48, 40, 3))
augment = transforms.Compose(
    [
        transforms.RandomResizedCrop(32),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.2, 0.2, 0.2),
        transforms.ToTensor(),
        transforms.Normalize([0.5] * 3, [0.5] * 3),
    ]
)
assert augment(picture).shape == (3, 32, 32)
tensor = transforms.functional.pil_to_tensor(picture)
assert transforms.functional.resize(tensor, [24, 20]).shape == (3, 24, 20)
assert transforms.functional.rotate(tensor, 30.0).shape == tensor.shape
modern = v2.Compose(
    [v2.ToImage(), v2.Resize((32, 32)), v2.RandomErasing(1.0), v2.ToDtype(torch.float32, True)]
)
assert modern(picture).shape == (3, 32, 32)
assert torchvision.utils.make_grid(images.clamp(0, 1)).shape[0] == 3

boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
assert ops.box_iou(boxes, boxes).shape == (3, 3)
assert ops.sigmoid_focal_loss(torch.randn(4), torch.ones(4)).shape == (4,)
