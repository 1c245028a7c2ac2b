"""Metrics over batches: classification, regression, collections, state and reset."""

import torch
import torchmetrics
from torchmetrics import MetricCollection
from torchmetrics.classification import (
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)

torch.manual_seed(0)
metrics = MetricCollection(
    {
        "accuracy": MulticlassAccuracy(num_classes=3),
        "f1": MulticlassF1Score(num_classes=3),
        "auroc": MulticlassAUROC(num_classes=3),
        "confusion": MulticlassConfusionMatrix(num_classes=3),
    }
)
labels = torch.randint(0, 3, (4, 16))
for batch in labels:
    logits = torch.nn.functional.one_hot(batch, 3) * 4.0
    metrics.update(logits.softmax(-1), batch)
values = metrics.compute()
assert values["accuracy"] == 1.0
assert values["confusion"].sum() == 64
metrics.reset()

error = torchmetrics.MeanSquaredError()
x = torch.randn(10, requires_grad=True)
loss = error(x, torch.zeros(10))
loss.backward()
torch.testing.assert_close(x.grad, 2 * x.detach() / 10)
torch.testing.assert_close(error.compute(), (x.detach() ** 2).mean())
correlation = torchmetrics.PearsonCorrCoef()
a = torch.randn(50)
torch.testing.assert_close(correlation(a, 3 * a + 1), torch.tensor(1.0))
similarity = torchmetrics.image.StructuralSimilarityIndexMeasure(data_range=1.0)
image = torch.rand(1, 1, 32, 32)
torch.testing.assert_close(similarity(image, image), torch.tensor(1.0))
