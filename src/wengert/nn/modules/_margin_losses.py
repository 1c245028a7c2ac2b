"""Losses with a margin: examples cost something until they are far enough on the right side."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module
from wengert.nn.modules._loss_bases import _Loss, _WeightedLoss
from wengert.nn.modules.distance import PairwiseDistance


class _MarginLoss(_Loss):
    """A loss with a margin."""

    def __init__(
        self,
        margin: float,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1.

    Args:
        margin: distance up to which examples cost something.
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.HingeEmbeddingLoss()(wengert.tensor([0.25]), wengert.tensor([-1.0]))
    tensor(0.7500)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        margin: distance up to which examples cost something.
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> x = wengert.ones(1, 2)
    >>> wengert.nn.CosineEmbeddingLoss()(x, x, -wengert.ones(1))
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_MarginLoss):
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        margin: distance up to which examples cost something.
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> one = wengert.ones(1)
    >>> wengert.nn.MarginRankingLoss(margin=0.5)(one, one, one)
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``.

    Args:
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.SoftMarginLoss()(wengert.zeros(1), wengert.ones(1))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The margins by which other classes come too close to the target.

    Args:
        p: degree of the norm, or the power of the margin.
        margin: distance up to which examples cost something.
        weight: factor of each class, of shape (C,).
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> x = wengert.tensor([[0.5, 0.25]])
    >>> wengert.nn.MultiMarginLoss()(x, wengert.tensor([0]))
    tensor(0.3750)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got p={p}")
        if weight is not None and weight._outline.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got"
                f" {weight._outline.ndim}D instead"
            )
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class MultiLabelMarginLoss(_Loss):
    """The margins by which non-target classes come too close to targets.

    Args:
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> x = wengert.tensor([[0.5, 0.25]])
    >>> wengert.nn.MultiLabelMarginLoss()(x, wengert.tensor([[0, -1]]))
    tensor(0.3750)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the binary cross entropy of logits.

    Args:
        weight: factor of each class, of shape (C,).
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.MultiLabelSoftMarginLoss()(wengert.zeros(1, 2), wengert.ones(1, 2))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Args:
        margin: distance up to which examples cost something.
        p: degree of the norm, or the power of the margin.
        eps: a small number, against division by zero or the logarithm of zero.
        swap: whether the smaller of the distances of the negative to anchor and positive
            counts.
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> x = wengert.zeros(1, 2)
    >>> wengert.nn.TripletMarginLoss()(x, x, x)
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


def _check_margin(module: Module, margin: float) -> None:
    if margin <= 0:
        raise ValueError(
            f"{type(module).__name__}: expected margin to be greater than 0, got {margin} instead"
        )


class TripletMarginWithDistanceLoss(_Loss):
    """The triplet margin loss with a custom distance function.

    Args:
        distance_function: distance of two batches of vectors; Euclidean unless given.
        margin: distance up to which examples cost something.
        swap: whether the smaller of the distances of the negative to anchor and positive
            counts.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> x = wengert.zeros(1, 2)
    >>> wengert.nn.TripletMarginWithDistanceLoss(margin=0.5)(x, x, x)
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Any = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
