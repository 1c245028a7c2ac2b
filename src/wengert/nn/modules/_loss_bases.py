"""What losses share: how they are reduced, and the weights of classes."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.ops.loss import older_reduction


class _Loss(Module):
    """A loss and how it is reduced."""

    reduction: str

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = older_reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
