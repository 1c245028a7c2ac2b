"""Cross entropy against class indices as compiled kernels, of float32 and float64.

The caller has checked the indices: they are classes; the loss of others is NaN. `share` and `scale`
have an element for each index, or one for all (`step` is 1 or 0). `smoothing` is the part of each
class's share that all classes have in equal parts. Of each softmax's denominator the logarithm is
kept in two parts, the largest score and the rest: their sum would lose the rest beside large
scores.
"""

from __future__ import annotations

import math

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    at,
    f64,
    i64,
    i64s,
    inline,
    local,
    maximum,
    real,
    reals,
)
from wengert.kernels.jit.mathlib import exp_bounded, log
from wengert.kernels.softmax.native import BLOCK, GROUP, LANES, group_of, log_denominators


@inline
def _mean(row: reals, top: real, width: i64) -> real:
    """The mean of what scores are less than the largest."""
    whole = f64(0.0)
    for first in range(0, width, BLOCK):
        part = 0.0
        for j in range(first, min(first + BLOCK, width)):
            part += row[j] - top
        whole += f64(part)
    return real(whole / f64(width))


@inline
def _class(index: i64, classes: i64) -> i64:
    """A class, whatever the index: nothing else is read or written."""
    return min(max(index, 0), classes - 1)


@inline
def _place(index: i64s, r: i64, n: i64, inner: i64) -> i64:
    """Where the element of the class with that index is."""
    return (r // inner * n + _class(index[r], n)) * inner + r % inner


@inline
def _picked(x: real, share: real) -> real:
    return 0.0 if share == 0.0 else x * share


@kernel
def picked(
    x: reals, index: i64s, share: reals, step: i64, out: reals, n: i64, inner: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        out[r] = _picked(x[_place(index, r, n, inner)], share[r * step])


@kernel
def picked_sum(
    x: reals, index: i64s, share: reals, step: i64, out: reals, n: i64, inner: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """The sum of all, which are one piece of work."""
    total = f64(0.0)
    for r in range(start, stop):
        total += f64(_picked(x[_place(index, r, n, inner)], share[r * step]))
    out[0] = real(total)


@kernel
def total(x: reals, out: reals, start: i64, stop: i64) -> None:
    """The sum of all, which are one piece of work."""
    whole = f64(0.0)
    for r in range(start, stop):
        whole += f64(x[r])
    out[0] = real(whole)


@kernel
def put(
    values: reals, index: i64s, step: i64, out: reals, n: i64, inner: i64, start: i64, stop: i64
) -> None:
    for r in range(start, stop):
        out[_place(index, r, n, inner)] = values[r * step]


@kernel
def cross_entropy(
    x: reals, index: i64s, share: reals, step: i64, smoothing: real, loss: reals, peak: reals,
    rest: reals, width: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    tops = local(real, GROUP)
    logs = local(real, GROUP)
    group = group_of(width)
    for first in range(start, stop, group):
        count = min(group, stop - first)
        log_denominators(at(x, first * width), tops, logs, count, width)
        for i in range(count):
            r = first + i
            row = at(x, r * width)
            k = _class(index[r], width)
            part = row[k] - tops[i]
            if k != index[r]:
                part = math.nan
            if smoothing > 0.0:
                part = (1.0 - smoothing) * part + smoothing * _mean(row, tops[i], width)
            s = share[r * step]
            peak[r] = tops[i]
            rest[r] = logs[i]
            # What counts for nothing is 0, even of an infinite loss.
            loss[r] = 0.0 if s == 0.0 else (logs[i] - part) * s


@kernel
def cross_entropy_gradient(
    x: reals, index: i64s, scale: reals, step: i64, smoothing: real, peak: reals, rest: reals,
    out: reals, width: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        row = at(x, r * width)
        y = at(out, r * width)
        top = peak[r]
        log_rest = rest[r]
        s = scale[r * step]
        each = smoothing / real(width) * s
        for j in range(width):
            y[j] = exp_bounded(row[j] - top - log_rest) * s - each
        k = _class(index[r], width)
        y[k] = (exp_bounded(row[k] - top - log_rest) - (1.0 - smoothing)) * s - each


@kernel
def cross_entropy_columns(
    x: reals, index: i64s, share: reals, step: i64, smoothing: real, loss: reals, peak: reals,
    rest: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    top = local(real, LANES)
    whole = local(real, LANES)
    mean = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        base = (b // blocks) * inner + first
        lanes = min(LANES, inner - first)
        for j in range(lanes):
            top[j] = -math.inf
            whole[j] = 0.0
            mean[j] = 0.0
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                top[j] = maximum(top[j], row[j])
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                less = row[j] - top[j]
                whole[j] = whole[j] + exp_bounded(less)
                mean[j] = mean[j] + less
        for j in range(lanes):
            whole[j] = log(whole[j])
        for j in range(lanes):
            part = x[place + index[base + j] * inner + j] - top[j]
            if smoothing > 0.0:
                part = (1.0 - smoothing) * part + smoothing * (mean[j] / real(n))
            s = share[(base + j) * step]
            peak[base + j] = top[j]
            rest[base + j] = whole[j]
            loss[base + j] = 0.0 if s == 0.0 else (whole[j] - part) * s


@kernel
def cross_entropy_gradient_columns(
    x: reals, index: i64s, scale: reals, step: i64, smoothing: real, peak: reals, rest: reals,
    out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    top = local(real, LANES)
    whole = local(real, LANES)
    slope = local(real, LANES)
    each = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        base = (b // blocks) * inner + first
        lanes = min(LANES, inner - first)
        for j in range(lanes):
            top[j] = peak[base + j]
            whole[j] = rest[base + j]
            slope[j] = scale[(base + j) * step]
            each[j] = smoothing / real(n) * slope[j]
        for k in range(n):
            row = at(x, place + k * inner)
            y = at(out, place + k * inner)
            for j in range(lanes):
                y[j] = exp_bounded(row[j] - top[j] - whole[j]) * slope[j] - each[j]
        for j in range(lanes):
            p = place + index[base + j] * inner + j
            y1 = exp_bounded(x[p] - top[j] - whole[j]) - (1.0 - smoothing)
            out[p] = y1 * slope[j] - each[j]


@inline
def _short(score: real, least: real, square: i64) -> real:
    short = maximum(score - least, 0.0)
    return short * short if square != 0 else short


@kernel
def margins(
    x: reals, index: i64s, share: reals, step: i64, square: i64, margin: real, loss: reals,
    width: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """By how much the other scores of a row come within a margin of one, or the squares of that."""
    for r in range(start, stop):
        row = at(x, r * width)
        k = index[r]
        least = row[k] - margin
        total = real(0.0)
        for j in range(k):
            total += _short(row[j], least, square)
        for j in range(k + 1, width):
            total += _short(row[j], least, square)
        loss[r] = total * share[r * step]


@kernel
def margins_gradient(
    x: reals, index: i64s, scale: reals, step: i64, square: i64, margin: real, out: reals,
    width: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for r in range(start, stop):
        row = at(x, r * width)
        y = at(out, r * width)
        k = index[r]
        least = row[k] - margin
        s = scale[r * step]
        for j in range(width):
            short = row[j] - least
            slope = 2.0 * short * s if square != 0 else s
            y[j] = slope if short > 0.0 else 0.0
        y[k] = 0.0
        total = real(0.0)
        for j in range(width):
            total += y[j]
        y[k] = -total


@kernel
def weighed_put(
    scale: reals, index: i64s, step: i64, out: reals, width: i64, start: i64, stop: i64
) -> None:
    """Rows of zeros with a number at the index."""
    for r in range(start, stop):
        y = at(out, r * width)
        for j in range(width):
            y[j] = 0.0
        y[_class(index[r], width)] = scale[r * step]
