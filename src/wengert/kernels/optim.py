"""The rules of optimizers, element by element; norms and bounds of many arrays together.

`p` is a parameter and `g` its gradient. The numbers that change with the steps are computed by
the optimizers, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy import fabs, maximum, minimum, sqrt, where

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import array_at, f32, f64, f64s, i64, i64s, inline, real, reals
from wengert.kernels.jit.formulas import Lists, formula, many


@inline
def descent(g: real, p: real, decay: real, maximize: i64) -> real:
    """The gradient of what is minimised, with L2 decay."""
    if maximize != 0:
        g = -g
    if decay != 0:
        g = g + p * decay
    return g


@formula
def sgd(
    p: reals, g: reals, direction: reals = None, *, lr: real, decay: real, momentum: real,
    keep: real, share: real, maximize: bool, averaged: bool, nesterov: bool,
) -> None:  # fmt: skip
    """Gradient descent, along an average of gradients where `averaged`."""
    change = descent(g, p, decay, maximize)
    if averaged:
        direction *= keep
        direction += change * share
        change = change + direction * momentum if nesterov else direction
    p -= change * lr


@formula
def adam(
    p: reals, g: reals, mean: reals, square: reals, largest: reals = None, *, rate: real,
    share: real, keep: real, rest: real, inverse: real, eps: real, decay: real, shrink: real,
    maximize: bool, amsgrad: bool, decoupled: bool,
) -> None:  # fmt: skip
    """Adam: `inverse` is one over the root of the correction of squares."""
    if decoupled:
        p *= shrink
    g = descent(g, p, decay, maximize)
    mean += (g - mean) * share
    square *= keep
    square += g * rest * g
    if amsgrad:
        largest[...] = maximum(largest, square)
        scale = sqrt(largest)
    else:
        scale = sqrt(square)
    p -= mean / (scale * inverse + eps) * rate


@formula
def nadam(
    p: reals, g: reals, mean: reals, square: reals, *, of_gradient: real, of_mean: real,
    share: real, keep: real, rest: real, correction: real, eps: real, decay: real, shrink: real,
    maximize: bool, decoupled: bool,
) -> None:  # fmt: skip
    """NAdam: the step is a sum of the gradient's and the average's."""
    if decoupled:
        p *= shrink
    g = descent(g, p, decay, maximize)
    mean += (g - mean) * share
    square *= keep
    square += g * rest * g
    p -= (g * of_gradient + mean * of_mean) / (sqrt(square / correction) + eps)


@formula
def radam(
    p: reals, g: reals, mean: reals, square: reals, *, rate: real, scaled: real, share: real,
    keep: real, rest: real, eps: real, decay: real, shrink: real, maximize: bool, decoupled: bool,
) -> None:  # fmt: skip
    """RAdam: steps are scaled where `scaled` is not 0."""
    if decoupled:
        p *= shrink
    g = descent(g, p, decay, maximize)
    mean += (g - mean) * share
    square *= keep
    square += g * rest * g
    p -= mean * rate / where(scaled != 0, sqrt(square) + eps, 1.0)


@formula
def adamax(
    p: reals, g: reals, mean: reals, largest: reals, *, rate: real, share: real, keep: real,
    eps: real, decay: real, maximize: bool,
) -> None:  # fmt: skip
    """Adamax."""
    g = descent(g, p, decay, maximize)
    mean += (g - mean) * share
    largest[...] = maximum(largest * keep, fabs(g) + eps)
    p -= mean / largest * rate


@formula
def adagrad(
    p: reals, g: reals, total: reals, *, rate: real, eps: real, decay: real, maximize: bool
) -> None:
    """Adagrad."""
    g = descent(g, p, decay, maximize)
    total += g * g
    p -= g / (sqrt(total) + eps) * rate


@formula
def adadelta(
    p: reals, g: reals, square: reals, moved: reals, *, lr: real, keep: real, rest: real,
    eps: real, decay: real, maximize: bool,
) -> None:  # fmt: skip
    """Adadelta."""
    g = descent(g, p, decay, maximize)
    square *= keep
    square += g * rest * g
    change = sqrt(moved + eps) / sqrt(square + eps) * g
    moved *= keep
    moved += change * rest * change
    p -= change * lr


@formula
def rmsprop(
    p: reals, g: reals, square: reals, direction: reals = None, mean: reals = None, *, lr: real,
    keep: real, rest: real, momentum: real, eps: real, decay: real, maximize: bool,
    averaged: bool, centered: bool,
) -> None:  # fmt: skip
    """RMSprop. A variance that rounding has made negative is zero."""
    g = descent(g, p, decay, maximize)
    square *= keep
    square += g * rest * g
    if centered:
        mean += (g - mean) * rest
        change = g / (sqrt(maximum(square - mean * mean, 0.0)) + eps)
    else:
        change = g / (sqrt(square) + eps)
    if averaged:
        direction *= momentum
        direction += change
        p -= direction * lr
    else:
        p -= change * lr


@formula
def asgd(
    p: reals, g: reals, average: reals, *, eta: real, shrink: real, mu: real, decay: real,
    maximize: bool,
) -> None:  # fmt: skip
    """Averaged gradient descent; the average is the parameter itself where `mu` is 1."""
    g = descent(g, p, decay, maximize)
    p *= shrink
    p -= g * eta
    average[...] = where(mu == 1, p, average + (p - average) * mu)


@formula
def rprop(
    p: reals, g: reals, previous: reals, size: reals, *, less: real, more: real, least: real,
    most: real, maximize: bool,
) -> None:  # fmt: skip
    """Rprop."""
    g = descent(g, p, 0.0, maximize)
    agreement = previous * g
    grown = where(agreement > 0, size * more, where(agreement < 0, size * less, size))
    size[...] = minimum(maximum(grown, least), most)
    previous[...] = where(agreement < 0, 0.0, g)
    p -= where(previous > 0, size, where(previous < 0, -size, 0.0))


@formula
def multiplied(x: reals, *, factor: real) -> None:
    """Arrays times a number."""
    x *= factor


@formula
def bounded(x: reals, *, bound: real) -> None:
    """Arrays cut off at both sides of zero."""
    x[...] = minimum(maximum(x, -bound), bound)


@formula
def blended(average: reals, value: reals, *, keep: real, share: real) -> None:
    """Averages moved towards values."""
    average[...] = average * keep + value * share


@formula
def approached(average: reals, value: reals, *, divisor: real) -> None:
    """Averages moved by a part of what is missing to values."""
    average += (value - average) / divisor


def total_norm(arrays: Sequence[np.ndarray], order: float) -> float | None:
    """The norm of all arrays together, for order 2 or infinity; None where NumPy has to do it."""
    if order not in (2.0, math.inf) or not many(arrays):
        return None
    lists = Lists([list(arrays)], 0)
    if not lists.fit():
        return None
    pieces, count, chunk = lists.pieces()
    out = np.empty(count)
    if order == 2.0:
        _squares.f32(lists.found, lists.rows + 1, pieces, out, count, chunk)
        return math.sqrt(out.sum())
    _largest.f32(lists.found, lists.rows + 1, pieces, out, count, chunk)
    return float(out.max(initial=0.0))


@kernel
def _squares(found: i64s, first: i64, pieces: i64s, out: f64s, start: i64, stop: i64) -> None:
    """The sum of the squares of each piece."""
    for k in range(start, stop):
        x = array_at(f32, found[first + pieces[3 * k]])
        total = f64(0.0)
        for i in range(pieces[3 * k + 1], pieces[3 * k + 2]):
            total += f64(x[i]) * f64(x[i])
        out[k] = total


@kernel
def _largest(found: i64s, first: i64, pieces: i64s, out: f64s, start: i64, stop: i64) -> None:
    """The largest absolute value of each piece; nan if there is one."""
    for k in range(start, stop):
        x = array_at(f32, found[first + pieces[3 * k]])
        most = f32(0.0)
        for i in range(pieces[3 * k + 1], pieces[3 * k + 2]):
            most = maximum(most, fabs(x[i]))
        out[k] = f64(most)
