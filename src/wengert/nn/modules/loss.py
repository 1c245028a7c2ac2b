"""Losses as modules; `reduction` is "none", "mean" or "sum"."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.modules._loss_bases import _Loss, _WeightedLoss
from wengert.nn.modules._margin_losses import *  # noqa: F403


class L1Loss(_Loss):
    """The absolute difference.

    Args:
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.L1Loss()(wengert.tensor([1.0, 3.0]), wengert.zeros(2))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    Args:
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.MSELoss()(wengert.tensor([1.0, 3.0]), wengert.zeros(2))
    tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood of classes, given log-probabilities (N, C, ...).

    Args:
        weight: factor of each class, of shape (C,).
        size_average: deprecated: use `reduction`.
        ignore_index: targets of this value count for nothing.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> log_probs = wengert.tensor([[-0.5, -1.0]])
    >>> wengert.nn.NLLLoss()(log_probs, wengert.tensor([1]))
    tensor(1.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """The old name of `NLLLoss`.

    Args:
        weight: factor of each class, of shape (C,).
        size_average: deprecated: use `reduction`.
        ignore_index: targets of this value count for nothing.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
    """


class CrossEntropyLoss(_WeightedLoss):
    """The negative log-likelihood of classes, given logits (N, C, ...).

    The target holds class indices, or probabilities in the shape of the input.

    Args:
        weight: factor of each class, of shape (C,).
        size_average: deprecated: use `reduction`.
        ignore_index: targets of this value count for nothing.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
        label_smoothing: share of the target that is spread evenly over all classes, between 0
            and 1.

    >>> import wengert
    >>> wengert.nn.CrossEntropyLoss()(wengert.zeros(1, 2), wengert.tensor([1]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities.

    Args:
        weight: factor of each element, of a shape that broadcasts with the target.
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.BCELoss()(wengert.tensor([0.5]), wengert.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy of logits.

    Args:
        weight: factor of each element, of a shape that broadcasts with the target.
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
        pos_weight: factor of the positive examples, of a shape that broadcasts with the target.

    >>> import wengert
    >>> wengert.nn.BCEWithLogitsLoss()(wengert.tensor([0.0]), wengert.tensor([1.0]))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SmoothL1Loss(_Loss):
    """Half the squared difference over `beta` where it is small, linear elsewhere.

    Args:
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
        beta: where the loss turns from quadratic to linear; 0: nowhere, it is linear.

    >>> import wengert
    >>> wengert.nn.SmoothL1Loss()(wengert.tensor([3.0]), wengert.zeros(1))
    tensor(2.5000)
    """

    def __init__(
        self,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared difference below `delta`, linear above.

    Args:
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
        delta: where the loss turns from quadratic to linear.

    >>> import wengert
    >>> wengert.nn.HuberLoss()(wengert.tensor([3.0]), wengert.zeros(1))
    tensor(2.5000)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)} ({delta})")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log-probabilities from a target.

    Args:
        size_average: deprecated: use `reduction`.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"batchmean"` (the sum over the batch size: the divergence),
            `"sum"` or `"none"`.
        log_target: whether the target is in log space, too.

    >>> import wengert
    >>> input = wengert.tensor([[0.5, 0.5]]).log()
    >>> wengert.nn.KLDivLoss(reduction="batchmean")(input, wengert.tensor([[0.5, 0.5]]))
    tensor(0.)
    """

    def __init__(
        self,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under a Poisson distribution.

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: whether to add the constant term.
        size_average: deprecated: use `reduction`.
        eps: a small number, against division by zero or the logarithm of zero.
        reduce: deprecated: use `reduction`.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> wengert.nn.PoissonNLLLoss()(wengert.zeros(1), wengert.ones(1))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood under a normal distribution of given variance.

    Args:
        full: whether to add the constant term.
        eps: a small number, against division by zero or the logarithm of zero.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.

    >>> import wengert
    >>> one = wengert.ones(1)
    >>> wengert.nn.GaussianNLLLoss()(wengert.zeros(1), one, one)
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """The connectionist temporal classification loss of log-probabilities (T, N, C).

    Args:
        blank: index of the blank label.
        reduction: `"mean"`, `"sum"`, or `"none"` for a loss of each element.
        zero_infinity: whether infinite losses, and their gradients, are zero: of inputs shorter
            than their targets.

    >>> import wengert
    >>> log_probs = wengert.zeros(2, 1, 3).log_softmax(2)
    >>> wengert.nn.CTCLoss()(log_probs, wengert.tensor([[1]]), (2,), (1,))
    tensor(1.0986)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]
