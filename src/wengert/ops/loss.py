"""Losses of real-valued predictions, probabilities, and distances."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.messages import warn
from wengert.core.preparations import preparation
from wengert.core.tensor import Tensor, memory_of
from wengert.ops.activation import _logsigmoid, logsigmoid
from wengert.ops.broadcasting import broadcast_tensors
from wengert.ops.checks import elements_of, require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.distance import pairwise_distance
from wengert.ops.exponential import log, sigmoid, xlogy
from wengert.ops.masking import where
from wengert.ops.reduction import mean_over, sum_over
from wengert.ops.variadic import require_tensor


def check_reduction(reduction: str) -> None:
    """Raise ValueError unless it is none, mean or sum."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: none, mean or sum")


def older_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Translate the two arguments replaced by `reduction`, with a warning."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    warn(
        "size_average and reduce args will be deprecated, please use"
        f" reduction='{reduction}' instead."
    )
    return reduction


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The mean or sum of the losses, or the losses."""
    if reduction == "mean":
        return mean_over(loss)
    if reduction == "sum":
        return sum_over(loss)
    check_reduction(reduction)
    return loss


def _paired(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, with a warning if one is broadcast; the dtype of one number counts as any other."""
    shapes = input._outline.shape, target._outline.shape
    if shapes[0] == shapes[1]:
        return input, target
    warn(
        f"Using a target size ({target.shape}) that is different to the input size"
        f" ({input.shape}). This will likely lead to incorrect results due to broadcasting."
        " Please ensure they have the same size."
    )
    if not all(shapes):
        input, target = broadcast_tensors(input, target)
    return input, target


def _weighed(loss: Tensor, weight: Tensor | None, input: Tensor, reduction: str) -> Tensor:
    """Weighted losses reduced; a mean divides by the sum of the weights."""
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != input.shape:
        raise ValueError(
            f"Weights and input must have the same size, got {weight.shape} and {input.shape}."
        )
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction)


@elementwise(
    input=lambda g, input, target: g * (2.0 * (input - target)),
    target=lambda g, input, target: g * (2.0 * (target - input)),
    label="MseLossBackward0",
    name="mse_loss",
)
def _squared_error(input: Value, target: Value) -> Value:
    require_kind("mse_cpu", input, "fc")
    return np.square(input - target)


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean, sum or tensor of squared differences.

    Warns if the shapes differ, since they are then broadcast.

    >>> import wengert
    >>> wengert.nn.functional.mse_loss(wengert.tensor([1., 2.]), wengert.tensor([1., 4.]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("mse_loss", "input", input)
    require_tensor("mse_loss", "target", target, 2)
    return _weighed(_squared_error(*_paired(input, target)), weight, input, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean, sum or tensor of absolute differences.

    >>> import wengert
    >>> wengert.nn.functional.l1_loss(wengert.tensor([1., 2.]), wengert.tensor([1., 4.]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("l1_loss", "input", input)
    require_tensor("l1_loss", "target", target, 2)
    x, y = _paired(input, target)
    return _weighed((x - y).abs(), weight, input, reduction)


@elementwise(input=lambda g, input, limit: g * (abs(input) < limit), name="huber_loss_backward")
def _limited(input: Value, limit: float) -> Value:
    bound = input.dtype.type(limit)
    return np.minimum(np.maximum(input, -bound), bound)


@elementwise(
    input=lambda g, input, target, delta: g * _limited(input - target, delta),
    target=lambda g, input, target, delta: g * _limited(target - input, delta),
    label="HuberLossBackward0",
    name="huber_loss",
)
def _huber(input: Value, target: Value, delta: float) -> Value:
    require_kind("huber_cpu", input, "f")
    distance = np.abs(input - target)
    near = np.minimum(distance, distance.dtype.type(delta))
    return near * (distance - near * distance.dtype.type(0.5))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Half the squared difference up to `delta`, linear with slope `delta` beyond.

    >>> import wengert
    >>> wengert.nn.functional.huber_loss(wengert.tensor([0., 3.]), wengert.tensor([1., 0.]))
    tensor(1.5000)
    """
    require_tensor("huber_loss", "input", input)
    require_tensor("huber_loss", "target", target, 2)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta: {delta}")
    loss = _huber(*_paired(input, target), delta)
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != input.shape:
        raise ValueError(
            f"Weights and input must have the same size, got {weight.shape} and {input.shape}."
        )
    return reduced(loss * weight, reduction)  # unlike mse_loss, as in PyTorch


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Absolute differences, smoothed to a parabola below `beta`.

    >>> import wengert
    >>> wengert.nn.functional.smooth_l1_loss(wengert.tensor([0., 3.]), wengert.tensor([1., 0.]))
    tensor(1.5000)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("smooth_l1_loss", "input", input)
    require_tensor("smooth_l1_loss", "target", target, 2)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta: {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    loss = reduced(_huber(*_paired(input, target), beta), reduction)
    return loss if beta == 1 else loss / float(beta)


def _log_at_least(x: np.ndarray) -> np.ndarray:
    return np.maximum(np.log(x), x.dtype.type(-100))


@elementwise(input=lambda g, input: g * (1.0 - 2.0 * input), name="binary_cross_entropy_backward")
def _bernoulli_variance(input: Value) -> Value:
    """x (1 - x), bounded away from zero: the variance that divides the derivative."""
    return np.maximum(input * (1 - input), input.dtype.type(1e-12))


@elementwise(
    input=lambda g, input, target: g * (input - target) / _bernoulli_variance(input),
    target=lambda g, input: g * (log(1.0 - input) - log(input)),
    label="BinaryCrossEntropyBackward0",
)
def _binary_cross_entropy(input: Value, target: Value) -> Value:
    return (target - 1) * _log_at_least(1 - input) - target * _log_at_least(input)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of probabilities `input` against `target`, both in [0, 1].

    Logarithms are bounded by -100. Raises ValueError if the shapes differ, RuntimeError for
    values outside [0, 1].

    >>> import wengert
    >>> p, t = wengert.tensor([0.5, 0.25]), wengert.tensor([1., 0.])
    >>> wengert.nn.functional.binary_cross_entropy(p, t)
    tensor(0.4904)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("binary_cross_entropy", "input", input)
    require_tensor("binary_cross_entropy", "target", target, 2)
    check_reduction(reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size"
            f" ({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if target._outline.dtype != input._outline.dtype:
        raise RuntimeError(
            f"Found dtype {of_numpy[target._outline.dtype].short} but expected"
            f" {of_numpy[input._outline.dtype].short} for binary_cross_entropy()'s target"
        )
    if not input._memoryless:
        _check_probabilities("input", input)
        _check_probabilities("target", target)
    loss = _binary_cross_entropy(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


@preparation
def _check_probabilities(what: str, value: Tensor) -> None:
    if not kernels.limits.all_between(elements_of(value), 0.0, 1.0):
        raise RuntimeError(f"all elements of {what} should be between 0 and 1")


@elementwise(
    input=lambda g, input, target: g * (sigmoid(input) - target),
    target=lambda g, input: -g * input,
    label="BinaryCrossEntropyWithLogitsBackward0",
    name="binary_cross_entropy_with_logits",
    layout=("target",),
)
def _logits_loss(input: Value, target: Value) -> Value:
    # (1 - t) x - log(sigmoid(x))
    loss = np.log1p(np.exp(-np.abs(input)))
    return (1 - target) * input + np.maximum(-input, 0) + loss


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Cross entropy of sigmoid(`input`) against `target`, stable for large scores.

    `pos_weight` multiplies the part of the positive class and is broadcast.

    >>> import wengert
    >>> x, t = wengert.tensor([0., 2.]), wengert.tensor([1., 1.])
    >>> wengert.nn.functional.binary_cross_entropy_with_logits(x, t)
    tensor(0.4100)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("binary_cross_entropy_with_logits", "input", input)
    require_tensor("binary_cross_entropy_with_logits", "target", target, 2)
    check_reduction(reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    dtype = of_numpy[target._outline.dtype]
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {dtype.short}: the target"
            " of binary_cross_entropy_with_logits() must be floating point"
        )
    if pos_weight is None:
        loss = _logits_loss(input, target)
    else:
        slope = (pos_weight - 1) * target + 1
        loss = (1 - target) * input - slope * logsigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """Kullback-Leibler divergence of `target` from the log-probabilities `input`.

    ``"batchmean"`` divides by the batch size, which is the mathematical definition; ``"mean"``
    divides by the number of elements, with a warning.

    >>> import wengert
    >>> q, p = wengert.tensor([[0.5, 0.5]]).log(), wengert.tensor([[1.0, 0.0]])
    >>> wengert.nn.functional.kl_div(q, p, reduction="batchmean")
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("kl_div", "input", input)
    require_tensor("kl_div", "target", target, 2)
    for x in (input, target):
        if x._outline.dtype.kind in "biuc":
            what = "Complex" if x._outline.dtype.kind == "c" else "Integral"
            raise RuntimeError(f"kl_div: {what} inputs not supported.")
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math"
            " definition.'mean' will be changed to behave the same as 'batchmean' in the next"
            " major release."
        )
    loss = (
        target.exp() * (target - input) if log_target else (xlogy(target, target) - target * input)
    )
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction)


def _check_margins(what: str, *sized: tuple[str, Tensor]) -> None:
    if len({x.ndim for _, x in sized}) > 1:
        got = ", ".join(f"{n}: {x.shape}" for n, x in sized)
        raise RuntimeError(
            f"{what} : All input tensors should have same dimension but got sizes: {got}"
        )


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None =
    None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin): `target` 1 wants the first to be larger.

    >>> import wengert
    >>> a, b, y = wengert.tensor([1.]), wengert.tensor([3.]), wengert.tensor([1.])
    >>> wengert.nn.functional.margin_ranking_loss(a, b, y)
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("margin_ranking_loss", "input1", input1)
    require_tensor("margin_ranking_loss", "input2", input2, 2)
    require_tensor("margin_ranking_loss", "target", target, 3)
    check_reduction(reduction)
    _check_margins(
        "margin_ranking_loss", ("input1", input1), ("input2", input2), ("target", target)
    )
    # A number with a fraction, so that the loss of whole numbers has a mean.
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce:
    bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`input` where `target` is 1, max(0, margin - input) where it is -1.

    >>> import wengert
    >>> x, y = wengert.tensor([0.5, 0.25]), wengert.tensor([1., -1.])
    >>> wengert.nn.functional.hinge_embedding_loss(x, y)
    tensor(0.6250)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("hinge_embedding_loss", "input", input)
    require_tensor("hinge_embedding_loss", "target", target, 2)
    check_reduction(reduction)
    short = (margin - input).clamp_min(0)
    loss = where(target != 1, short, 0.0) + where(target != -1, input, 0.0)
    return reduced(loss, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None =
    None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - cosine where `target` is 1, max(0, cosine - margin) where it is -1.

    >>> import wengert
    >>> a, b = wengert.tensor([[1., 0.]]), wengert.tensor([[0., 1.]])
    >>> wengert.nn.functional.cosine_embedding_loss(a, b, wengert.tensor([1]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("cosine_embedding_loss", "input1", input1)
    require_tensor("cosine_embedding_loss", "input2", input2, 2)
    require_tensor("cosine_embedding_loss", "target", target, 3)
    check_reduction(reduction)
    if target.ndim > 1:
        raise RuntimeError(
            f"0D or 1D target tensor expected, multi-target not supported: got {list(target.shape)}"
        )
    if {input1.ndim, input2.ndim} != {target.ndim + 1}:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found"
            f" inputs with sizes {list(input1.shape)} and {list(input2.shape)}"
        )
    # eps as in PyTorch: inside the product of the squared norms
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    like, unlike = target == 1, target == -1
    loss = (1 - cosine) * like + (cosine - margin).clamp_min(0) * unlike
    return reduced(loss, reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps:
    float = 1e-6, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for p-norm distances d.

    With `swap` d(positive, negative) is used for the negative if it is smaller.

    >>> import wengert
    >>> a, b, c = (wengert.tensor([[v]]) for v in (0., 2., 1.))
    >>> wengert.nn.functional.triplet_margin_loss(a, b, c)
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)

    def distance(x1: Tensor, x2: Tensor) -> Tensor:
        return pairwise_distance(x1, x2, p, eps)

    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap,
        reduction=reduction,
    )  # fmt: skip


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with any distance between tensors.

    >>> import wengert
    >>> a, b, c = (wengert.tensor([[v]]) for v in (0., 2., 1.))
    >>> wengert.nn.functional.triplet_margin_with_distance_loss(
    ...     a, b, c, distance_function=lambda x, y: (x - y).abs().sum(-1))
    tensor(2.)
    """
    require_tensor("triplet_margin_with_distance_loss", "anchor", anchor)
    require_tensor("triplet_margin_with_distance_loss", "positive", positive, 2)
    require_tensor("triplet_margin_with_distance_loss", "negative", negative, 3)
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = anchor.ndim, positive.ndim, negative.ndim
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of"
            f" dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative"
            f" {ranks[2]}D inputs"
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool |
    None = None, eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Negative log likelihood of counts `target` under Poisson rates, `input` or its exponential.

    `full` adds Stirling's approximation of the term without `input`.

    >>> import wengert
    >>> wengert.nn.functional.poisson_nll_loss(wengert.tensor([0.]), wengert.tensor([3.]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("poisson_nll_loss", "input", input)
    require_tensor("poisson_nll_loss", "target", target, 2)
    check_reduction(reduction)
    rate, log_rate = (input.exp(), input) if log_input else (input, (input + eps).log())
    loss = rate - target * log_rate
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Negative log likelihood of `target` under normal distributions of mean `input`.

    `var` is a number or has the shape of `input`, except that the last dimension may be missing
    or one dimension be 1; it is clamped to at least `eps`, which gradients ignore. `full` adds
    the constant term.

    >>> import wengert
    >>> x, t, v = wengert.tensor([0.]), wengert.tensor([2.]), wengert.tensor([1.])
    >>> wengert.nn.functional.gaussian_nll_loss(x, t, v)
    tensor(2.)
    """
    require_tensor("gaussian_nll_loss", "input", input)
    require_tensor("gaussian_nll_loss", "target", target, 2)
    if not isinstance(var, Tensor):
        var = input.new_full(input.shape, var)
    if (memory_of(var) < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not _differs_in_one(input.shape, var.shape):
            raise ValueError(f"var is of incorrect size: {var.shape} for input {input.shape}")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var + (eps - var.detach()).clamp_min(0)  # outside the graph: gradients pass
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _differs_in_one(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether `other` is the same shape except for a single 1."""
    if len(shape) != len(other):
        return False
    return [n for m, n in zip(shape, other, strict=True) if m != n] == [1]


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """log(1 + exp(-target * input)): two classes, 1 and -1.

    >>> import wengert
    >>> wengert.nn.functional.soft_margin_loss(wengert.tensor([0.]), wengert.tensor([1.]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("soft_margin_loss", "input", input)
    require_tensor("soft_margin_loss", "target", target, 2)
    return reduced(-_logsigmoid(target * input), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over classes (the last dimension) of the binary cross entropy with logits.

    >>> import wengert
    >>> scores, labels = wengert.tensor([[0., 0.]]), wengert.tensor([[1., 0.]])
    >>> wengert.nn.functional.multilabel_soft_margin_loss(scores, labels)
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return reduced((loss if weight is None else loss * weight).mean(-1), reduction)


__all__: list[str] = []
FUNCTIONAL = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
    "margin_ranking_loss", "mse_loss", "multilabel_soft_margin_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
)  # fmt: skip
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
