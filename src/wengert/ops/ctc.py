"""Connectionist temporal classification (Graves et al., 2006).

Kernels sum over all paths, forward and backward; when a derivative is itself recorded, and in
transforms, ordinary operations do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor, Tracer, memory_of, shape_of, wrap
from wengert.ops.batching import leading
from wengert.ops.declare import Value, primitive
from wengert.ops.exponential import exp
from wengert.ops.joining import stack
from wengert.ops.loss import check_reduction
from wengert.ops.masking import where
from wengert.ops.padding import pad
from wengert.ops.shape import unsqueeze
from wengert.ops.softmax import log_softmax, logsumexp
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import keep

# Used for log(0): its exp() is 0, and sums with it do not become nan.
_NEVER = -1e30


@primitive(lengths=None, batch=leading, name="ctc_loss")
def _checked_lengths(lengths: Value, name: str, most: int) -> Value:
    """The lengths as int64; RuntimeError for one below 0 or above `most`."""
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= most:
        value = lengths[(lengths < 0) | (lengths > most)][0]
        bound = "at least 0" if value < 0 else f"at most {most}"
        raise RuntimeError(f"Expected {name} to have value {bound}, but got value {value}")
    return lengths.astype(np.int64)


def _lengths(name: str, value: Any, batch: int, most: int) -> Tensor:
    lengths = value if isinstance(value, Tensor) else wrap(np.asarray(value))
    if lengths._outline.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral, got {lengths._outline.dtype}")
    if lengths.ndim != 1:
        lengths = lengths.reshape((-1,))
    if lengths.shape[0] != batch:
        raise RuntimeError(f"{name} must be of size batch_size {batch}, got {lengths.shape[0]}")
    return _checked_lengths(lengths, name, most)


def _longest(targets: Tensor, lengths: Tensor) -> int:
    """The number of labels of the longest target, or an upper bound in a batch of calls."""
    if isinstance(lengths, Tracer):
        return targets.shape[-1]
    return int(lengths._array.max(initial=0))


@primitive(targets=None, lengths=None, mixed=False, batch=leading, name="ctc_loss")
def _paths(targets: Value, lengths: Value, longest: int, blank: int, classes: int) -> Value:
    """A row for each target: its labels with blanks around each, padded with blanks."""
    used = np.arange(longest) < lengths[..., None]
    rows = np.full((*lengths.shape, longest), blank, np.int64)
    size = targets.shape[-1]
    if targets.ndim == lengths.ndim:  # the labels of all targets in one row
        for total in np.unique(lengths.sum(-1)):
            if total != size:
                raise _wrong_size(f"{total} at dimension 0", size)
        rows[used] = targets.ravel()
    else:
        if targets.shape[-2] != lengths.shape[-1]:
            raise _wrong_size(f"{lengths.shape[-1]} at dimension 0", targets.shape[-2])
        if size < lengths.max(initial=0):
            raise _wrong_size(f"at least {lengths.max()} at dimension 1", size)
        rows[used] = targets[..., :longest][used]
    if rows.size and not 0 <= rows.min() <= rows.max() < classes:
        raise RuntimeError(f"targets must be classes in [0, {classes}), got {rows.tolist()}")
    paths = np.full((*lengths.shape, 2 * longest + 1), blank)
    paths[..., 1::2] = rows
    return paths


def _wrong_size(expected: str, size: int) -> RuntimeError:
    return RuntimeError(
        f"Expected tensor to have size {expected}, but got size {size} for argument 'targets' of"
        " ctc_loss()"
    )


@primitive(paths=None, batch=leading, name="ctc_loss")
def _skips(paths: Value, blank: int, dtype: np.dtype[Any]) -> Value:
    """0 at positions a step may reach by skipping a blank: a label unlike the one before."""
    after, before = paths[..., 2:], paths[..., :-2]
    skips = np.full(paths.shape, _NEVER, dtype)
    skips[..., 2:][(after != blank) & (after != before)] = 0
    return skips


@primitive(targets=None, inputs=None, batch=leading, name="ctc_loss")
def _outside(targets: Value, inputs: Value, states: int, dtype: np.dtype[Any]) -> Value:
    """0 at positions where a path may end: on the last label or the blank after it."""
    state, last = np.arange(states), 2 * targets[..., None]
    ends = (state == last) | (state == last - 1)
    ends &= ((inputs > 0) | (targets == 0))[..., None]
    return np.where(ends, 0, _NEVER).astype(dtype)


def _forward(scores: Value, skips: Value, inputs: Value) -> list[Tensor]:
    """For each step the log-probabilities of all paths to its positions, by ordinary operations."""
    steps, _, states = shape_of(scores)
    dtype = memory_of(scores).dtype
    alpha = scores[0] + wrap(np.where(np.arange(states) < 2, 0, _NEVER).astype(dtype))
    alphas = [alpha]
    for t in range(1, steps):
        skipped = pad(alpha, (2, -2), value=_NEVER) + skips
        step = logsumexp(stack([alpha, pad(alpha, (1, -1), value=_NEVER), skipped]), 0) + scores[t]
        alpha = where(unsqueeze(inputs > t, -1), step, alpha)
        alphas.append(alpha)
    return alphas


def _total(alpha: Tensor, inputs: Value, targets: Value) -> Tensor:
    """The log-probability of each sample's target."""
    outside = _outside(targets, inputs, alpha.shape[-1], memory_of(alpha).dtype)
    total = logsumexp(alpha + outside, 1)
    return total.masked_fill((inputs == 0) & (targets == 0), 0.0)


def _reference(scores: Value, skips: Value, inputs: Value, targets: Value) -> Value:
    return -_total(_forward(scores, skips, inputs)[-1], inputs, targets)


def _losses_vjp(g: Value, scores: Value, skips: Value, inputs: Value, targets: Value) -> Value:
    arguments = g, scores, skips, inputs, targets
    if not isinstance(g, Tensor) and not isinstance(scores, Tensor):
        return kernels.ctc.slopes(*arguments)
    g, scores, skips, inputs, targets = (x if isinstance(x, Tensor) else wrap(x) for x in arguments)
    steps, _, states = shape_of(scores)
    alphas = _forward(scores, skips, inputs)
    total = _total(alphas[-1], inputs, targets)
    ends = beta = _outside(targets, inputs, states, memory_of(scores).dtype)
    slopes = []
    for t in reversed(range(steps)):
        if t < steps - 1:
            after = beta + scores[t + 1]
            skipped = pad(after + skips, (-2, 2), value=_NEVER)
            step = logsumexp(stack([after, pad(after, (-1, 1), value=_NEVER), skipped]), 0)
            beta = where(unsqueeze(inputs > t + 1, -1), step, ends)
        some = (inputs > t) & (total > _NEVER / 2)
        share = exp(alphas[t] + beta - unsqueeze(total, -1))
        slopes.append(keep(-unsqueeze(g, -1) * share, unsqueeze(some, -1)))
    return stack(slopes[::-1])


@primitive(
    scores=_losses_vjp,
    skips=None,
    inputs=None,
    targets=None,
    mixed=False,
    reference=_reference,
    label="CtcLossBackward0",
    name="ctc_loss",
)
def _losses(scores: Value, skips: Value, inputs: Value, targets: Value) -> Value:
    """Minus the log-probability of each sample's target.

    `scores` (time, batch, place) are log-probabilities of the labels on the path: the target
    with blanks around each label. `skips` are 0 where a step may skip a blank; `inputs` and
    `targets` are lengths.
    """
    return kernels.ctc.losses(scores, skips, inputs, targets)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log-probability of label sequences under `log_probs` (time, batch, class).

    `targets` is (batch, longest) or all labels in one row; the batch may be left out of
    `log_probs`. A mean first divides by the lengths of the targets. As in PyTorch the
    derivative assumes that `log_probs` is the output of a log_softmax.

    >>> import wengert
    >>> log_probs = wengert.zeros(2, 1, 3).log_softmax(2)
    >>> wengert.nn.functional.ctc_loss(log_probs, wengert.tensor([[1]]), (2,), (1,))
    tensor(1.0986)
    """
    require_tensor("ctc_loss", "log_probs", log_probs)
    require_tensor("ctc_loss", "targets", targets, 2)
    check_reduction(reduction)
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, got {blank} for {classes} classes")
    if log_probs._memoryless or targets._memoryless:
        raise NotImplementedError(
            "ctc_loss() of tensors on the meta device: the lengths of targets are elements of a"
            " tensor, and there are none"
        )
    lengths = _lengths("target_lengths", target_lengths, batch, np.iinfo(np.int64).max)
    times = _lengths("input_lengths", input_lengths, batch, steps)
    paths = _paths(targets, lengths, _longest(targets, lengths), blank, classes)

    normal = log_softmax(log_probs, 2)
    constant_shift = normal + (log_probs - normal).detach()
    scores = constant_shift.gather(2, paths.expand((steps, *paths.shape)).contiguous())
    loss = _losses(scores, _skips(paths, blank, log_probs._outline.dtype), times, lengths)
    impossible = loss > -_NEVER / 2
    if isinstance(impossible, Tracer) or memory_of(impossible).any():
        loss = loss.masked_fill(impossible, 0.0 if zero_infinity else float("inf"))
    if reduction == "mean":
        return (loss / lengths.clamp(min=1)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss.squeeze(0) if single else loss


__all__: list[str] = []
FUNCTIONAL = ("ctc_loss",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
