"""Losses of classes: cross entropy, negative log likelihood, and margins between scores.

A target of class indices becomes two arrays: the indices, with ignored ones replaced by 0, and
each one's share in the loss (its class's weight; 0 if ignored; divided by the sum of all for
a mean). Both are constant, so the rest is smooth in the scores.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.preparations import preparation
from wengert.core.tensor import Tensor, Tracer, memory_of, shape_of, wrap
from wengert.kernels.chunks import plain
from wengert.kernels.precision import HALF
from wengert.ops.batching import Batch
from wengert.ops.casting import convert
from wengert.ops.checks import require_constant, varies
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.gathering import index_select
from wengert.ops.loss import check_reduction, older_reduction, reduced
from wengert.ops.masking import masked_fill, where
from wengert.ops.row_indices import Refusal, from_start
from wengert.ops.shape import reshape
from wengert.ops.softmax import log_softmax, softmax
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop

_INT64, _UINT8 = np.dtype(np.int64), np.dtype(np.uint8)


def _cross_entropy_vjp(
    g: Value, input: Value, index: Value, share: Value, lse: Value, axis: int, smoothing: float
) -> Value:
    if not isinstance(input, Tensor) and not isinstance(g, Tensor):
        return kernels.classification.cross_entropy_gradient(
            g, input, index, share, lse, axis, smoothing
        )
    # The denominator is recomputed from the input, so that it is differentiated too.
    input, index, share = (x if isinstance(x, Tensor) else wrap(x) for x in (input, index, share))
    ones = np.ones(index._outline.shape, input._outline.dtype)
    hot = wrap(kernels.classification.put(ones, index._array, input._outline.shape, axis))
    scale = drop(g * share, share == 0).expand(index.shape).unsqueeze(axis)
    target_probabilities = (
        hot * (1 - smoothing) + smoothing / input.shape[axis] if smoothing else hot
    )
    return convert(
        (softmax(input, axis) - target_probabilities) * scale, of_numpy[input._outline.dtype]
    )


def _cross_entropy_reference(
    input: Value, index: Value, share: Value, axis: int, reduced: bool, smoothing: float = 0.0
) -> Value:
    logs = log_softmax(input, axis)
    sharp = _weighed_pick(logs, index, share * (smoothing - 1), axis, reduced)
    if not smoothing:
        return sharp
    smooth = logs.sum(axis) * share * (smoothing / input.shape[axis])
    return sharp - convert(smooth.sum() if reduced else smooth, sharp.dtype)


@primitive(
    mixed=False,
    aux=("lse",),
    label="NllLossBackward0",
    reference=_cross_entropy_reference,
    input=_cross_entropy_vjp,
    index=None,
    share=None,
    layout="contiguous",
)
def _cross_entropy(
    input: Value, index: Value, share: Value, axis: int, reduced: bool, smoothing: float = 0.0
) -> Value:
    return kernels.classification.cross_entropy(input, index, share, axis, reduced, smoothing)


def _spread_shares(b: Batch) -> Any:
    """The shares of a batch, which broadcast against the indices; they may be a single number."""
    share, rank = b.values["share"], b.rank("index")
    missing = rank - b.rank("share")
    if "share" not in b.batched or not missing:
        return share
    return reshape(share, (b.size, *(1,) * missing))


def _picked_in_batch(b: Batch) -> Any:
    losses = b(
        input=b.whole("input"), index=b.whole("index"), share=_spread_shares(b),
        axis=b.params["axis"] + 1, reduced=False,
    )  # fmt: skip
    if not b.params["reduced"] or not b.rank("index"):
        return losses
    return losses.sum(tuple(range(1, b.rank("index") + 1)))


def _put_in_batch(b: Batch) -> Any:
    grad = b.whole("grad")
    grad = reshape(grad, (b.size, *(1,) * (b.rank("index") - b.rank("grad")), *b.shape("grad")))
    return b(
        grad=grad, index=b.whole("index"), share=_spread_shares(b),
        shape=(b.size, *b.params["shape"]), axis=b.params["axis"] + 1,
    )  # fmt: skip


@multilinear(
    mixed=False,
    batch=_picked_in_batch,
    label="NllLossBackward0",
    input=lambda g, index, share, input_shape, axis: _weighed_put(
        g, index, share, input_shape, axis
    ),
    index=None,
    share=None,
    name="nll_loss",
    layout="contiguous",
)
def _weighed_pick(input: Value, index: Value, share: Value, axis: int, reduced: bool) -> Value:
    return kernels.classification.picked(input, index, share, axis, reduced)


@multilinear(
    mixed=False,
    grad=lambda g, index, share, axis, grad_shape: _weighed_pick(
        g, index, share, axis, grad_shape == ()
    ),
    index=None,
    share=None,
    batch=_put_in_batch,
    name="nll_loss_backward",
)
def _weighed_put(
    grad: Value, index: Value, share: Value, shape: tuple[int, ...], axis: int
) -> Value:
    """The adjoint of `_weighed_pick`."""
    values = np.asarray(kernels.classification.weighed(grad, share), grad.dtype)
    return kernels.classification.put(values, index, shape, axis)


def _indices(
    shape: tuple[int, ...], dtype: np.dtype, target: Tensor, weight: Tensor | None,
    ignore_index: int,
) -> tuple[Value, Value]:  # fmt: skip
    """Checked class indices with 0 for those ignored, and the weight of each.

    Arrays; tensors if `target` or `weight` is traced by a transform. If all weights are equal,
    the weight may be a single number.
    """
    t, axis = target._array, _class_axis(shape)
    _check_target_shape(shape, t.shape, axis)
    if t.dtype is not _INT64 and t.dtype not in (_INT64, _UINT8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {of_numpy[t.dtype].short}"
        )
    classes = shape[axis]
    if weight is not None and weight._outline.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but"
            f" got weight tensor of shape: {list(weight._outline.shape)}"
        )
    if weight is not None and weight._outline.dtype != dtype:
        expected, weight_name = of_numpy[dtype].short, of_numpy[weight._outline.dtype].short
        raise RuntimeError(f"expected scalar type {expected} but found {weight_name} (weight)")
    require_constant("nll_loss", "weight", weight)
    own = np.dtype(np.float32) if dtype in HALF else dtype
    target_memory = memory_of(target)
    all_known = _all_below(target_memory, classes)
    if not all_known:
        wrong = (target_memory != ignore_index) & ((target_memory < 0) | (target_memory >= classes))
        if wrong.any():
            raise IndexError(f"Target {target_memory[wrong].flat[0]} is out of bounds.")
    full = all_known and not 0 <= ignore_index < classes
    if varies(target):
        return _varying_indices(target, weight, ignore_index, own, classes)
    if isinstance(target, Tracer) or isinstance(weight, Tracer):
        return _traced_indices(target, weight, None if full else ignore_index, own)
    index = t if t.dtype is _INT64 else t.astype(np.int64, copy=False)
    share = np.array(1, own)
    if not full:
        counted = t != ignore_index
        index, share = np.where(counted, index, 0), counted.astype(own)
    if weight is not None:
        share = share * weight._array[index]
    return index, share


def _class_axis(shape: tuple[int, ...]) -> int:
    return 0 if len(shape) == 1 else 1


@preparation
def _shares(
    shape: tuple[int, ...], dtype: np.dtype, target: Tensor, weight: Tensor | None,
    ignore_index: int, mean: bool, sign: int,
) -> tuple[Value, Value, bool | Tensor]:  # fmt: skip
    """`_indices` in the shape of scores without the classes, and shares that sum to 1 for a mean.

    Shares have a sign. The last says whether a mean is of nothing: then shares are as they are.
    In transforms it is a tensor, unless the shape says it.
    """
    t, axis = target._array, _class_axis(shape)
    apart = shape[:axis] + shape[axis + 1 :]
    alike = weight is None and mean and ignore_index < 0 and dtype not in HALF
    if (
        alike  # as is usual: nothing is left out, and all weigh the same
        and type(target) is Tensor
        and t.dtype is _INT64
        and t.shape == apart != ()
        and _all_below(t := plain(t), shape[axis])
    ):
        return t, np.array(sign / t.size, dtype), False
    index, share = _indices(shape, dtype, target, weight, ignore_index)
    nothing: bool | Tensor = mean and 0 in share.shape
    if mean and not nothing:
        if index.ndim and not share.ndim and isinstance(share, np.ndarray):
            share = np.array(sign / index.size, share.dtype)  # all weigh the same
        else:
            total = _sum_of_weights(share, index)
            if isinstance(total, Tracer):
                nothing = total == 0
                total = where(nothing, 1, total)
            else:
                nothing = bool(total == 0)
            share = share if nothing is True else share / (total * sign)
    elif sign < 0:
        share = -share
    if not isinstance(share, Tensor):
        share = np.asarray(share)
    if index.shape != apart:  # one target, without a dimension
        index = index.reshape(apart)
    if share.ndim and share.shape != apart:
        share = share.reshape(apart)
    return index, share, nothing


def _all_below(labels: np.ndarray, classes: int) -> bool:
    """Whether there are labels, and all are classes."""
    if not labels.size:
        return False
    if labels.dtype == _INT64:
        return kernels.scatter.native.within(labels, classes)
    return bool(labels.max() < classes)


def _traced_indices(
    target: Tensor, weight: Tensor | None, ignored: int | None, dtype: np.dtype
) -> tuple[Tensor, Tensor]:
    index = target.long()
    share = wrap(np.ones((), dtype))
    if ignored is not None:
        counted = target != ignored
        index, share = where(counted, index, 0), counted.to(of_numpy[dtype])
    if weight is not None:
        share = share * _weight_of(weight, index)
    return index, share


def _varying_indices(
    target: Tensor, weight: Tensor | None, ignored: int, dtype: np.dtype, classes: int
) -> tuple[Tensor, Tensor]:
    """As `_traced_indices`, for a program that leaves out and refuses what it is given."""
    index, share = _traced_indices(target, None, ignored, dtype)
    index = from_start(index, 0, classes, Refusal("IndexError", "Target ", " is out of bounds."))
    return index, share if weight is None else share * _weight_of(weight, index)


def _weight_of(weight: Tensor, index: Tensor) -> Tensor:
    return index_select(weight.detach(), 0, index.reshape(-1)).reshape(index.shape)


def _check_target_shape(shape: tuple[int, ...], target: tuple[int, ...], axis: int) -> None:
    expected_shape = shape[:axis] + shape[axis + 1 :]
    if target == expected_shape:
        return
    if len(shape) <= 2:
        if len(target) > 1:
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported: got target of shape"
                f" {list(target)} for input of shape {list(shape)}"
            )
        if len(shape) == 1 and target == (1,):
            return
    if not target or not shape[:axis] or target[0] != shape[0]:
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size"
            f" ({target[0] if target else 1})."
        )
    raise RuntimeError(
        f"Expected target size {list(expected_shape)}, got {list(target)} for input of shape"
        f" {list(shape)}"
    )


def _sum_of_weights(share: Value, index: Value) -> Any:
    return share.sum() if share.ndim else share * prod(index.shape)


def _index_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    loss: Any, sign: int, *options: float,
) -> Tensor:  # fmt: skip
    """`loss` is one of the two operations on indices and shares, which have a sign."""
    check_reduction(reduction)
    if not input._outline.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    shape, dtype = input._outline.shape, input._outline.dtype
    index, share, nothing = _shares(
        shape, dtype, target, weight, ignore_index, reduction == "mean", sign
    )
    axis = _class_axis(shape)
    if nothing is True:  # the mean is nan, as in PyTorch; it depends on no score
        return reduced(loss(input, index, share, axis, False, *options), "sum") + np.nan
    out: Tensor = loss(input, index, share, axis, reduction != "none", *options)
    if nothing is not False:
        return masked_fill(out, nothing, np.nan)
    return out.reshape(target.shape) if reduction == "none" else out


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability, in `input` (batch, class, ...), of each class in `target`.

    `weight` has one entry per class; a mean divides by the weights used. Raises IndexError for
    a class out of range.

    >>> import wengert
    >>> logs = wengert.tensor([[-1., -2.], [-3., -4.]])
    >>> wengert.nn.functional.nll_loss(logs, wengert.tensor([1, 0]))
    tensor(2.5000)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("nll_loss", "input", input)
    require_tensor("nll_loss", "target", target, 2)

    return _index_loss(input, target, weight, ignore_index, reduction, _weighed_pick, -1)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing:
    float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross entropy of softmax(`input`) (batch, class, ...) against `target`.

    `target` is class indices, of the shape of `input` without the classes, or probabilities,
    of the shape of `input`. Raises IndexError for a class out of range.

    >>> import wengert
    >>> scores = wengert.tensor([[2., 0., 0.]])
    >>> wengert.nn.functional.cross_entropy(scores, wengert.tensor([0]))
    tensor(0.2395)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        what, x = ("target", target) if isinstance(input, Tensor) else ("input", input)
        kind = type(x).__name__
        raise TypeError(f"cross_entropy(): argument {what!r} must be Tensor, not {kind}")
    if input._outline.shape == target._outline.shape:
        return _probability_loss(input, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing and weight is not None:
        return _smoothed(input, target, weight, ignore_index, reduction, label_smoothing)
    _check_scores(input)
    return _index_loss(
        input, target, weight, ignore_index, reduction, _cross_entropy, 1, label_smoothing
    )


def _check_scores(input: Tensor) -> None:
    if of_numpy[input._outline.dtype].category != dtypes.FLOAT:
        short = of_numpy[input._outline.dtype].short
        raise NotImplementedError(f'"cross_entropy" not implemented for {short!r}')


def _class_weights(weight: Tensor, ndim: int, axis: int) -> Tensor:
    return weight.reshape(*(1,) * axis, -1, *(1,) * (ndim - axis - 1))


def _probability_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    smoothing: float,
) -> Tensor:  # fmt: skip
    check_reduction(reduction)
    if of_numpy[target._outline.dtype].category != dtypes.FLOAT:
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got"
            f" {of_numpy[target._outline.dtype].short}"
        )
    if ignore_index >= 0:
        raise RuntimeError(
            f"ignore_index is not supported for floating point target, got {ignore_index}"
        )
    shape = input._outline.shape
    axis = 0 if len(shape) == 1 else 1
    if smoothing:
        target = target * (1 - smoothing) + smoothing / shape[axis]
    loss = log_softmax(input, axis) * target
    if weight is not None:
        loss = loss * _class_weights(weight, len(shape), axis)
    if reduction == "none":
        return -loss.sum(axis)
    total = -loss.sum()
    return total / (input._outline.size / shape[axis]) if reduction == "mean" else total


def _smoothed(
    input: Tensor, target: Tensor, weight: Tensor, ignore_index: int, reduction: str,
    smoothing: float,
) -> Tensor:  # fmt: skip
    """Interpolate between the loss of the class and the weighted losses of all classes."""
    logs = log_softmax(input, 0 if input._outline.ndim == 1 else 1)
    sharp = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    x = input._outline
    index, share = _indices(x.shape, x.dtype, target, weight, ignore_index)
    axis = _class_axis(x.shape)
    shape = logs._outline.shape
    spread = logs * _class_weights(weight, len(shape), axis)
    counted = (target != ignore_index).reshape(shape[:axis] + shape[axis + 1 :])
    smooth: Tensor = -spread.sum(axis) * counted.to(input.dtype)
    if reduction == "none":
        smooth = smooth.reshape(target.shape)
    else:
        smooth = smooth.sum()
        if reduction == "mean":
            smooth = convert(smooth / _sum_of_weights(share, index), input.dtype)
    return sharp * (1 - smoothing) + smooth * (smoothing / shape[axis])


def _rows(name: str, input: Tensor) -> Tensor:
    """Scores as a row for each sample."""
    scores = input if len(shape_of(input)) > 1 else input.reshape(1, -1)
    shape = shape_of(scores)
    if len(shape) > 2 or not shape[1]:
        raise RuntimeError(
            f"{name}: expected a non-empty vector or matrix with optional 0-dim batch size, but"
            f" got: {list(input.shape)}"
        )
    return scores


def _multi_margin_vjp(
    g: Value, input: Value, index: Value, share: Value, p: int, margin: float
) -> Value:
    if not any(isinstance(x, Tensor) for x in (g, input, index, share)):
        return kernels.classification.margins_gradient(g, input, index, share, p, margin)
    input = input if isinstance(input, Tensor) else wrap(input)
    short, others, at = _shortfalls(input, index, margin)
    slope = others * (short > 0) if p == 1 else 2 * short
    slope = slope * (g * share).expand(len(at)).unsqueeze(1)
    return convert(slope.scatter_add(1, at, -slope.sum(1, keepdim=True)), input.dtype)


def _multi_margin_reference(
    input: Value, index: Value, share: Value, p: int, margin: float, reduced: bool
) -> Value:
    short, _, _ = _shortfalls(input, index, margin)
    loss = convert((short if p == 1 else short * short).sum(1) * share, input.dtype)
    return loss.sum() if reduced else loss


def _shortfalls(input: Tensor, index: Value, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    """By how much other scores come within the margin; 1 for those; the index in a column."""
    at = (index if isinstance(index, Tensor) else wrap(index)).unsqueeze(1)
    others = (wrap(np.arange(input.shape[1])) != at).to(input.dtype)
    return (input - input.gather(1, at) + margin).relu() * others, others, at


@primitive(
    mixed=False,
    label="MultiMarginLossBackward0",
    reference=_multi_margin_reference,
    input=_multi_margin_vjp,
    index=None,
    share=None,
    layout="contiguous",
    name="multi_margin_loss",
)
def _multi_margin(
    input: Value, index: Value, share: Value, p: int, margin: float, reduced: bool
) -> Value:
    return kernels.classification.margins(input, index, share, p, margin, reduced)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """By how much other classes' scores come within `margin` of the target's, to the power `p`.

    >>> import wengert
    >>> scores = wengert.tensor([[0.5, 0.2]])
    >>> wengert.nn.functional.multi_margin_loss(scores, wengert.tensor([0]))
    tensor(0.3500)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("multi_margin_loss", "input", input)
    require_tensor("multi_margin_loss", "target", target, 2)
    check_reduction(reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got {list(weight.shape)}")
    require_constant("multi_margin_loss", "weight", weight)
    scores = _rows("multi_margin_loss", input)
    (batch, classes), labels = scores.shape, memory_of(target)
    if len(shape_of(target)) > 1 or target.numel() != batch:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input"
            f" samples. Expected target size [{batch}], but got {list(target.shape)}."
            f" Input has shape {list(input.shape)}."
        )
    if labels.dtype != np.int64:
        short = of_numpy[labels.dtype].short
        raise RuntimeError(f"expected scalar type Long but found {short} (target)")
    if labels.size and not _all_below(labels, classes):
        raise RuntimeError(f"target out of range: {labels.tolist()} for {classes} classes")
    index = target if target.ndim == 1 else target.reshape(-1)
    if varies(target):
        refuse = Refusal("RuntimeError", "target out of range: ", f" for {classes} classes")
        index = from_start(index, 0, classes, refuse)
    dtype = np.dtype(np.float32) if scores._outline.dtype in HALF else scores._outline.dtype
    whole = reduction != "none" and batch > 0
    share: Any = np.array(1 / (classes * (batch if whole and reduction == "mean" else 1)), dtype)
    if weight is not None:
        share = share * index_select(weight.detach(), 0, index)
    loss = _multi_margin(scores, index, share, p, float(margin), whole)
    return loss if whole else reduced(loss.reshape(target.shape), reduction)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """By how much the scores of other classes come within 1 of those of each target class.

    `target` has the shape of `input`; in each row, class indices up to the first -1 count.

    >>> import wengert
    >>> scores = wengert.tensor([[0.5, 0.2, 0.1]])
    >>> wengert.nn.functional.multilabel_margin_loss(scores, wengert.tensor([[0, -1, -1]]))
    tensor(0.4333)
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
    require_tensor("multilabel_margin_loss", "input", input)
    require_tensor("multilabel_margin_loss", "target", target, 2)
    check_reduction(reduction)
    scores = _rows("multilabel_margin_loss", input)
    alone = input.ndim < 2 and target.ndim < 2 and target.numel() == input.numel()
    if target.shape != input.shape and not alone:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    classes = scores.shape[1]
    labels, target_memory = target.reshape(scores.shape), memory_of(target)
    if target_memory.size and not -1 <= target_memory.min() <= target_memory.max() < classes:
        raise RuntimeError(f"target out of range: expected classes from -1 to {classes - 1}")
    counted = (labels < 0).cumsum(1) == 0
    index = where(counted, labels, 0)
    # (batch, target, class): only pairs of a target with a non-target class.
    hit = (index.unsqueeze(2) == wrap(np.arange(classes))) & counted.unsqueeze(2)
    pairs = counted.unsqueeze(2) & ~hit.any(1, keepdim=True)
    label_scores = scores.gather(1, index).unsqueeze(2)
    short = (scores.unsqueeze(1) - label_scores + 1).relu() * pairs.to(scores.dtype)
    loss = short.sum((1, 2)) / classes
    return reduced(loss if input.ndim == 2 else loss.squeeze(0), reduction)


__all__: list[str] = []
FUNCTIONAL = ("cross_entropy", "multi_margin_loss", "multilabel_margin_loss", "nll_loss")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
