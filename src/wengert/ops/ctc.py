"""Connectionist temporal classification (Graves et al., 2006), by recorded operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor, wrap
from wengert.ops._variadic import require_tensor
from wengert.ops.joining import stack
from wengert.ops.loss import check_reduction
from wengert.ops.padding import pad
from wengert.ops.selection import where
from wengert.ops.softmax import log_softmax, logsumexp

# Stands for log(0): exp() of it is 0, and it may be added to without becoming nan.
_NEVER = -1e30


def _lengths(name: str, given: Any, batch: int, most: int) -> np.ndarray:
    lengths = np.asarray(given._array if isinstance(given, Tensor) else given).reshape(-1)
    if lengths.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral, got {lengths.dtype}")
    if len(lengths) != batch:
        raise RuntimeError(f"{name} must be of size batch_size {batch}, got {len(lengths)}")
    for value in lengths[(lengths < 0) | (lengths > most)]:
        bound = f"at least 0, but got value {value}" if value < 0 else f"at most {most}"
        raise RuntimeError(f"Expected {name} to have value {bound}, but got value {value}")
    return lengths


def _labels(targets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The targets as rows, padded with zeros."""
    longest = int(lengths.max(initial=0))
    if targets.ndim == 2:
        if targets.shape[1] < longest or len(targets) != len(lengths):
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size"
                f" {targets.shape[1]} for argument 'targets' of ctc_loss()"
            )
        return targets[:, :longest]
    if len(targets) != lengths.sum():
        raise RuntimeError(
            f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size"
            f" {len(targets)} for argument 'targets' of ctc_loss()"
        )
    rows = np.zeros((len(lengths), longest), targets.dtype)
    rows[np.arange(longest) < lengths[:, None]] = targets
    return rows


def _losses(scores: Tensor, path: np.ndarray, skips: np.ndarray, inputs: np.ndarray,
            targets: np.ndarray) -> Tensor:  # fmt: skip
    """Minus the log-probability of each sample's target.

    `scores` (time, batch, place) are log-probabilities of the labels on the path: the target
    with blanks around each label. `skips` are 0 where a step may pass over a blank.
    """
    first = np.where(np.arange(path.shape[1]) < 2, 0, _NEVER)
    alpha = scores[0] + wrap(first.astype(scores._array.dtype))
    for t in range(1, len(scores)):
        from_before = pad(alpha, (1, -1), value=_NEVER)
        skipped = pad(alpha, (2, -2), value=_NEVER) + wrap(skips)
        step = logsumexp(stack([alpha, from_before, skipped]), 0) + scores[t]
        alpha = where(wrap((t < inputs)[:, None]), step, alpha)
    places = np.arange(path.shape[1])
    # A path ends on the last label or on the blank after it.
    ends = (places == 2 * targets[:, None]) | (places == 2 * targets[:, None] - 1)
    ends &= (inputs > 0)[:, None] | (targets == 0)[:, None]
    outside = np.where(ends, 0, _NEVER).astype(scores._array.dtype)
    whole = logsumexp(alpha + wrap(outside), 1)
    return -whole.masked_fill(wrap((inputs == 0) & (targets == 0)), 0.0)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log-probability of label sequences under `log_probs` (time, batch, class).

    `targets` is (batch, longest) or all labels in one row; the batch may be left out of
    `log_probs`. A mean first divides by the lengths of the targets. As in PyTorch the
    derivative takes `log_probs` for the output of a log_softmax.

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
    lengths = _lengths("target_lengths", target_lengths, batch, np.iinfo(np.int64).max)
    times = _lengths("input_lengths", input_lengths, batch, steps)
    labels = _labels(targets._array.astype(np.int64), lengths)
    if ((labels < 0) | (labels >= classes)).any():
        raise RuntimeError(f"targets must be classes in [0, {classes}), got {labels.tolist()}")

    path = np.full((batch, 2 * labels.shape[1] + 1), blank)
    path[:, 1::2] = labels
    dtype = log_probs._array.dtype
    repeats = np.ones(path.shape, bool)
    repeats[:, 2:] = (path[:, 2:] == blank) | (path[:, 2:] == path[:, :-2])
    skips = np.where(repeats, _NEVER, 0).astype(dtype)

    normal = log_softmax(log_probs, 2)
    known = normal + (log_probs - normal).detach()
    scores = known.gather(2, wrap(np.broadcast_to(path, (steps, *path.shape))))
    loss = _losses(scores, path, skips, times, lengths)
    loss = loss.masked_fill(loss > -_NEVER / 2, 0.0 if zero_infinity else float("inf"))
    if reduction == "mean":
        return (loss / wrap(np.maximum(lengths, 1).astype(dtype))).mean()
    if reduction == "sum":
        return loss.sum()
    return loss.squeeze(0) if single else loss


__all__: list[str] = []
FUNCTIONAL = ("ctc_loss",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
