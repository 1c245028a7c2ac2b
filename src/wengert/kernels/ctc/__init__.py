"""The sums over all paths of connectionist temporal classification (Graves et al., 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import plain, real_for
from wengert.kernels.ctc import native
from wengert.kernels.ctc.native import NEVER

Array = np.ndarray

# Steps and places of all samples from which compiling a kernel is worth it.
_FEW = 1 << 8


def losses(scores: Array, skips: Array, times: Array, lengths: Array) -> Array:
    """Minus the log-probabilities of targets; 1e30 where no path leads to one.

    `scores` (time, batch, place) are those of the labels and blanks on the path, `skips` (batch,
    place) are 0 where a step may pass over a blank and -1e30 elsewhere; `times` and `lengths` are
    those of the inputs and of the targets.
    """
    run = _run(scores)
    if run is not None:
        return -_forward(run, scores, skips, times, lengths, 2)[1].astype(scores.dtype)
    return -_total(_alphas(scores, skips, times), times, lengths).astype(scores.dtype)


def slopes(g: Array, scores: Array, skips: Array, times: Array, lengths: Array) -> Array:
    """The cotangents of the scores, of those of the losses."""
    run = _run(scores)
    out = np.zeros(scores.shape, scores.dtype)
    steps, batch, places = scores.shape
    if run is None:
        alphas = _alphas(scores, skips, times)
        total = _total(alphas, times, lengths)
        known = (times > np.arange(steps)[:, None]) & (total > 0.5 * NEVER)
        with np.errstate(over="ignore", under="ignore"):
            paths = np.exp(alphas + _betas(scores, skips, times, lengths) - total[:, None])
        return np.where(known[..., None], -g[:, None] * paths, 0).astype(scores.dtype)
    alpha, total = _forward(run, scores, skips, times, lengths, steps)
    getattr(native.backward, run)(
        plain(scores), plain(skips), plain(times), plain(lengths), alpha, total, plain(g),
        np.empty((batch, 3, places + 2)), out, steps, batch, places, batch, 1,
    )  # fmt: skip
    return out


def _run(scores: Array) -> str | None:
    """The variant of kernels, where there is one for these."""
    return real_for(scores.dtype) if scores.size >= _FEW and scores.dtype.itemsize >= 4 else None


def _forward(run: str, scores: Array, skips: Array, times: Array, lengths: Array, rows: int) -> Any:
    _, batch, places = scores.shape
    alpha, total = np.empty((batch, rows, places + 2)), np.empty(batch)
    getattr(native.forward, run)(
        plain(scores), plain(skips), plain(times), plain(lengths), alpha, total,
        batch, places, rows, batch, 1,
    )  # fmt: skip
    return alpha, total


def _shifted(row: Array, by: int) -> Array:
    """A row of places moved to the right, or to the left."""
    out = np.full_like(row, NEVER)
    if by > 0:
        out[:, by:] = row[:, :-by]
    else:
        out[:, :by] = row[:, -by:]
    return out


def _added(*rows: Array) -> Array:
    return np.logaddexp(np.logaddexp(rows[0], rows[1]), rows[2])


def _alphas(scores: Array, skips: Array, times: Array) -> Array:
    """The log-probabilities of all ways to the places of each step, in float64."""
    alpha = scores.astype(np.float64)
    alpha[0, :, 2:] += NEVER
    for t in range(1, len(alpha)):
        before = alpha[t - 1]
        ways = _added(before, _shifted(before, 1), _shifted(before, 2) + skips)
        alpha[t] = np.where((times > t)[:, None], ways + alpha[t], before)
    return alpha


def _total(alphas: Array, times: Array, lengths: Array) -> Array:
    rows, end = np.arange(len(lengths)), 2 * lengths
    last = alphas[-1]
    with np.errstate(over="ignore", under="ignore"):
        total = np.logaddexp(
            last[rows, end], np.where(lengths > 0, last[rows, np.maximum(end - 1, 0)], NEVER)
        )
    return np.where(times > 0, total, np.where(lengths == 0, 0, NEVER))


def _betas(scores: Array, skips: Array, times: Array, lengths: Array) -> Array:
    """The log-probabilities of all ways from the places of each step to the end."""
    steps, _, places = scores.shape
    place, end = np.arange(places), 2 * lengths[:, None]
    ends = np.where((place == end) | (place == end - 1), 0, NEVER)
    betas = np.empty(scores.shape)
    betas[-1] = ends
    for t in range(steps - 2, -1, -1):
        after = betas[t + 1] + scores[t + 1]
        ways = _added(after, _shifted(after, -1), _shifted(after + skips, -2))
        betas[t] = np.where((times > t + 1)[:, None], ways, ends)
    return betas
