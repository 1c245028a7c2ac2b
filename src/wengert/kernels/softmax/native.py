"""Softmax and its kin as compiled kernels, of float32 and float64.

Rows are read from memory once: the passes of a row find it in the cache. Sums of
float32 are taken in it within blocks, and in float64 between them. Those that write each result
once read and write halves, too.
"""

from __future__ import annotations

import math

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    at,
    f64,
    fabs,
    i64,
    inline,
    local,
    maximum,
    real,
    reals,
    storeds,
)
from wengert.kernels.jit.mathlib import exp_bounded, log

# Terms of a float32 sum; columns, and rows, processed together.
BLOCK, LANES, GROUP = 1024, 128, 16
# Columns of rows that are narrow.
NARROW = 24


@inline
def largest(row: storeds, width: i64) -> real:
    """The largest element; NaN if there is one."""
    top = -math.inf
    for j in range(width):
        top = maximum(top, row[j])
    return top


@inline
def exponentials(row: storeds, top: real, width: i64) -> real:
    """The sum of exp(x - top) over a row."""
    whole = f64(0.0)
    for first in range(0, width, BLOCK):
        part = 0.0
        for j in range(first, min(first + BLOCK, width)):
            part += exp_bounded(row[j] - top)
        whole += f64(part)
    return real(whole)


@inline
def _normalise(row: reals, out: reals, top: real, width: i64) -> None:
    """exp(row - top) over its sum."""
    whole = f64(0.0)
    for first in range(0, width, BLOCK):
        part = 0.0
        for j in range(first, min(first + BLOCK, width)):
            y = exp_bounded(row[j] - top)
            out[j] = y
            part += y
        whole += f64(part)
    scale = real(1.0 / whole)
    for j in range(width):
        out[j] = out[j] * scale


@kernel
def softmax(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        row = at(x, r * width)
        _normalise(row, at(out, r * width), largest(row, width), width)


@kernel
def masked_softmax(
    x: reals, mask: reals, out: reals, width: i64, period: i64, start: i64, stop: i64
) -> None:
    """Of x + mask, whose rows repeat; zeros where all is -inf."""
    for r in range(start, stop):
        row = at(x, r * width)
        hidden = at(mask, (r % period) * width)
        y = at(out, r * width)
        top = -math.inf
        for j in range(width):
            v = row[j] + hidden[j]
            y[j] = v
            top = maximum(top, v)
        if top == -math.inf:
            for j in range(width):
                y[j] = 0.0
        else:
            _normalise(y, y, top, width)


@inline
def _turn(x: storeds, turned: reals, count: i64, width: i64) -> None:
    """Transpose a group of rows into columns; zeros for missing rows."""
    if count < GROUP:
        for j in range(width * GROUP):
            turned[j] = 0.0
    for r in range(count):
        for j in range(width):
            turned[j * GROUP + r] = x[r * width + j]


@inline
def _narrow_denominators(x: storeds, tops: reals, logs: reals, count: i64, width: i64) -> None:
    turned = local(real, NARROW * GROUP)
    _turn(x, turned, count, width)
    for r in range(GROUP):
        tops[r] = -math.inf
        logs[r] = 0.0
    for j in range(width):
        column = at(turned, j * GROUP)
        for r in range(GROUP):
            tops[r] = maximum(tops[r], column[r])
    for j in range(width):
        column = at(turned, j * GROUP)
        for r in range(GROUP):
            logs[r] = logs[r] + exp_bounded(column[r] - tops[r])
    for r in range(GROUP):
        logs[r] = log(logs[r])


@inline
def log_denominators(x: storeds, tops: reals, logs: reals, count: i64, width: i64) -> None:
    """Of some rows the largest element and log(sum(exp(x - it))).

    Logarithms are vectorised: one alone costs as much as eight. So are narrow rows, in a
    transposed copy.
    """
    if width <= NARROW:
        _narrow_denominators(x, tops, logs, count, width)
        return
    for r in range(count):
        row = at(x, r * width)
        tops[r] = largest(row, width)
        logs[r] = exponentials(row, tops[r], width)
    for r in range(count):
        logs[r] = log(logs[r])


@inline
def group_of(width: i64) -> i64:
    """The number of rows `log_denominators` takes at a time: few enough for the L1 cache."""
    return min(GROUP, max(1, 4096 // width))


@kernel
def log_softmax(x: storeds, out: storeds, width: i64, start: i64, stop: i64) -> None:
    tops = local(real, GROUP)
    logs = local(real, GROUP)
    group = group_of(width)
    for first in range(start, stop, group):
        count = min(group, stop - first)
        log_denominators(at(x, first * width), tops, logs, count, width)
        for r in range(count):
            row = at(x, (first + r) * width)
            y = at(out, (first + r) * width)
            top = tops[r]
            rest = logs[r]
            for j in range(width):
                y[j] = (row[j] - top) - rest


@kernel
def logsumexp(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    tops = local(real, GROUP)
    logs = local(real, GROUP)
    group = group_of(width)
    for first in range(start, stop, group):
        count = min(group, stop - first)
        log_denominators(at(x, first * width), tops, logs, count, width)
        for r in range(count):
            # The largest itself where it is infinite, or NaN.
            out[first + r] = logs[r] + tops[r] if fabs(tops[r]) < math.inf else tops[r]


@kernel
def softmax_pullback(
    g: storeds, y: storeds, out: storeds, width: i64, start: i64, stop: i64
) -> None:
    for r in range(start, stop):
        p = at(g, r * width)
        q = at(y, r * width)
        o = at(out, r * width)
        whole = f64(0.0)
        for first in range(0, width, BLOCK):
            part = 0.0
            for j in range(first, min(first + BLOCK, width)):
                part += p[j] * q[j]
            whole += f64(part)
        mean = real(whole)
        for j in range(width):
            o[j] = (p[j] - mean) * q[j]


@kernel
def log_softmax_pullback(
    g: storeds, y: storeds, out: storeds, width: i64, start: i64, stop: i64
) -> None:
    for r in range(start, stop):
        p = at(g, r * width)
        q = at(y, r * width)
        o = at(out, r * width)
        whole = f64(0.0)
        for first in range(0, width, BLOCK):
            part = 0.0
            for j in range(first, min(first + BLOCK, width)):
                part += p[j]
            whole += f64(part)
        total = real(whole)
        for j in range(width):
            o[j] = p[j] - exp_bounded(q[j]) * total


# Along another axis than the last: (outer, n, inner), by blocks of columns.


@inline
def _column_extremes(x: storeds, top: reals, n: i64, inner: i64, lanes: i64) -> None:
    for j in range(lanes):
        top[j] = -math.inf
    for k in range(n):
        row = at(x, k * inner)
        for j in range(lanes):
            top[j] = maximum(top[j], row[j])


@kernel
def softmax_columns(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    top = local(real, LANES)
    total = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        lanes = min(LANES, inner - first)
        _column_extremes(at(x, place), top, n, inner, lanes)
        for j in range(lanes):
            total[j] = 0.0
        for k in range(n):
            row = at(x, place + k * inner)
            y = at(out, place + k * inner)
            for j in range(lanes):
                v = exp_bounded(row[j] - top[j])
                y[j] = v
                total[j] = total[j] + v
        for j in range(lanes):
            total[j] = 1.0 / total[j]
        for k in range(n):
            y = at(out, place + k * inner)
            for j in range(lanes):
                y[j] = y[j] * total[j]


@kernel
def log_softmax_columns(
    x: storeds, out: storeds, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    top = local(real, LANES)
    total = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        lanes = min(LANES, inner - first)
        _column_extremes(at(x, place), top, n, inner, lanes)
        for j in range(lanes):
            total[j] = 0.0
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                total[j] = total[j] + exp_bounded(row[j] - top[j])
        for j in range(lanes):
            total[j] = log(total[j])
        for k in range(n):
            row = at(x, place + k * inner)
            y = at(out, place + k * inner)
            for j in range(lanes):
                y[j] = (row[j] - top[j]) - total[j]


@kernel
def logsumexp_columns(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    top = local(real, LANES)
    total = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        lanes = min(LANES, inner - first)
        _column_extremes(at(x, place), top, n, inner, lanes)
        for j in range(lanes):
            total[j] = 0.0
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                total[j] = total[j] + exp_bounded(row[j] - top[j])
        y = at(out, (b // blocks) * inner + first)
        for j in range(lanes):
            # The largest itself where it is infinite, or NaN.
            y[j] = log(total[j]) + top[j] if fabs(top[j]) < math.inf else top[j]


@kernel
def softmax_pullback_columns(
    g: storeds, y: storeds, out: storeds, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    total = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        lanes = min(LANES, inner - first)
        for j in range(lanes):
            total[j] = 0.0
        for k in range(n):
            p = at(g, place + k * inner)
            q = at(y, place + k * inner)
            for j in range(lanes):
                total[j] = total[j] + p[j] * q[j]
        for k in range(n):
            p = at(g, place + k * inner)
            q = at(y, place + k * inner)
            o = at(out, place + k * inner)
            for j in range(lanes):
                o[j] = (p[j] - total[j]) * q[j]


@kernel
def log_softmax_pullback_columns(
    g: storeds, y: storeds, out: storeds, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    total = local(real, LANES)
    for b in range(start, stop):
        first = (b % blocks) * LANES
        place = (b // blocks) * n * inner + first
        lanes = min(LANES, inner - first)
        for j in range(lanes):
            total[j] = 0.0
        for k in range(n):
            p = at(g, place + k * inner)
            for j in range(lanes):
                total[j] = total[j] + p[j]
        for k in range(n):
            p = at(g, place + k * inner)
            q = at(y, place + k * inner)
            o = at(out, place + k * inner)
            for j in range(lanes):
                o[j] = p[j] - exp_bounded(q[j]) * total[j]
