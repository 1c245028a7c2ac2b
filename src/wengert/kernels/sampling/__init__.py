"""Random numbers: PyTorch's, from a stream of uniform ones.

How many uniforms a number takes that is drawn by rejection shows only as it is made. `feed` is a
generator's method that gives a function blocks of its stream, `Generator.feed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.kernels.chunks import pays_off, plain, real_of, rows_of
from wengert.kernels.jit import Kernel, available
from wengert.kernels.precision import widened
from wengert.kernels.sampling import native

Array = np.ndarray
Feed = Callable[[Callable[[Array, Array], tuple[int, int]], int], None]

_THIRD = np.float32(1) / np.float32(3)
# Numbers from which compiling a kernel is worth it, and uniforms of a block at most.
_FEW, _BLOCK = 64, 1 << 14


def gammas(feed: Feed, shapes: Array) -> Array:
    """Gamma numbers of these shapes (float32 or float64) and rate 1, as float64."""
    kind = shapes.dtype.type
    small = shapes < 1
    # In the precision of the shapes, as PyTorch has them.
    less = shapes + small.astype(kind) - kind(_THIRD)
    with np.errstate(divide="ignore"):
        powers = np.where(small, kind(1) / shapes, kind(0))
    return _drawn(feed, native.gammas, shapes, less, powers)


def poissons(feed: Feed, rates: Array) -> Array:
    """Poisson numbers of these rates, which are not negative, as float64."""
    return _drawn(feed, native.poissons, rates)


def binomials(feed: Feed, counts: Array, chances: Array) -> Array:
    """How many of so many trials succeed with these probabilities, as float64."""
    return _drawn(feed, native.binomials, counts, chances)


def faults(weights: Array) -> tuple[bool, bool]:
    """Whether a weight is negative or not finite, and whether all of a row are 0."""
    run = real_of(weights) if weights.size >= _FEW else None
    if run is not None:
        wrong, n = np.zeros(2, np.int64), weights.shape[-1]
        rows = weights.size // n
        getattr(native.weigh, run)(weights, wrong, n, rows, rows_of(n))
        return bool(wrong[0]), bool(wrong[1])
    largest = np.maximum.reduce(weights, axis=-1, initial=0)
    smallest = np.minimum.reduce(weights, axis=None, initial=0)
    right = smallest >= 0 and np.maximum.reduce(largest, axis=None, initial=0) < np.inf
    return not right, not np.minimum.reduce(largest, axis=None, initial=1) > 0


def categories(weights: Array, draws: Array) -> Array:
    """For each draw from [0, 1) of a row the category in whose share of its weights it falls."""
    n, weights = weights.shape[-1], widened(weights)
    if draws.size >= _FEW and available():
        weights, draws = plain(weights), plain(draws)
        out = np.empty(draws.shape, np.int64)
        run = native.categories.f32 if weights.dtype == np.float32 else native.categories.f64
        rows = weights.size // n
        run(weights, np.empty_like(weights), draws, out, n, draws.shape[-1], rows, rows_of(4 * n))
        return out
    total = weights.cumsum(-1)
    total = total / total[..., -1:]
    total[..., -1] = 1
    pairs = zip(total.reshape(-1, n), draws.reshape(-1, draws.shape[-1]), strict=True)
    found = [np.searchsorted(shares, drawn) for shares, drawn in pairs]
    return np.array(found, np.int64).reshape(draws.shape)


def _drawn(feed: Feed, kernel: Kernel, *parameters: Array) -> Array:
    """A number for each place of the parameters, in their order."""
    flat = [p.astype(np.float64).ravel() for p in parameters]
    count = flat[0].size
    out = np.empty(count)
    position = np.zeros(2, np.int64)
    run: Any = kernel.python
    if pays_off(count, _FEW) and available():
        run = _compiled(kernel)  # which computes the same as Python

    def take(uniforms: Array, spare: Array) -> tuple[int, int]:
        position[native.USED] = 0
        before = position[native.DONE]
        run(*flat, out, uniforms, uniforms.size, spare, position, 0, count)
        drawn, used = position - (before, 0)
        if position[native.DONE] == count:
            return int(used), 0
        if not drawn:
            return 0, 2 * uniforms.size
        # As many again for each number that is missing: few are drawn in vain.
        return int(used), _block((count - position[native.DONE]) * used / drawn)

    if count:
        with np.errstate(all="ignore"):
            feed(take, _block(2 * count))
    return out.reshape(parameters[0].shape)


def _block(size: float) -> int:
    """How many uniforms to ask for where so many are needed."""
    return min(int(size) + 8, _BLOCK)


def _compiled(kernel: Kernel) -> Callable[..., None]:
    """The kernel as one piece of work."""
    return lambda *arguments: kernel.f64(*arguments[:-2], arguments[-1], arguments[-1])
