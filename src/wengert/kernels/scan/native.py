"""Running sums, products, extremes and recurrences as compiled kernels.

Arrays are viewed as (outer, n, inner): element k of a scan is at ``(outer * n + k) * inner + i``.
Along the last axis (inner is 1) `row_*` takes one row after another; otherwise `column_*` takes
LANES adjacent columns as the lanes of vectors, with tasks numbered (outer, block of columns).
Sums and products are accumulated in float64. With `back` 1 they run from the end.
"""

from __future__ import annotations

import math

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    at,
    f64,
    fabs,
    i64,
    i64s,
    inline,
    local,
    real,
    reals,
)
from wengert.kernels.jit.mathlib64 import exp_bounded_double, log1p_double
from wengert.kernels.ordering import double_key

# Columns processed together, and elements of a row.
LANES = 128
_LEAST = -9223372036854775807


@kernel
def row_scan(x: reals, out: reals, n: i64, back: i64, product: i64, start: i64, stop: i64) -> None:
    """Running sums, or with `product` 1 products, along each row."""
    step = 1 - 2 * back
    for row in range(start, stop):
        place = row * n + back * (n - 1)
        total = f64(product)
        if product != 0:
            for _k in range(n):
                total = total * f64(x[place])
                out[place] = real(total)
                place = place + step
        else:
            for _k in range(n):
                total = total + f64(x[place])
                out[place] = real(total)
                place = place + step


@kernel
def column_scan(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, back: i64, product: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """The same down each column, for blocks of them."""
    total = local(f64, LANES)
    step = (1 - 2 * back) * inner
    for b in range(start, stop):
        first = b % blocks * LANES
        lanes = min(LANES, inner - first)
        place = (b // blocks * n + back * (n - 1)) * inner + first
        for j in range(lanes):
            total[j] = f64(product)
        for _k in range(n):
            row = at(x, place)
            y = at(out, place)
            if product != 0:
                for j in range(lanes):
                    total[j] = total[j] * f64(row[j])
            else:
                for j in range(lanes):
                    total[j] = total[j] + f64(row[j])
            for j in range(lanes):
                y[j] = real(total[j])
            place = place + step


@inline
def _shrunk(a: f64, b: f64) -> f64:
    """exp(-|a - b|), also of two equal infinities."""
    return exp_bounded_double(f64(0.0) if a == b else -fabs(a - b))


@inline
def _with_rest(top: f64, rest: f64) -> f64:
    """top + log(1 + rest); an infinite one stays."""
    return top + (log1p_double(rest) if fabs(top) < math.inf else f64(0.0))


@kernel
def row_logsumexp(x: reals, out: reals, n: i64, start: i64, stop: i64) -> None:
    """Running log(sum(exp)) along each row: the largest so far, and the sum of all others to it.

    What takes long, the exponentials and logarithms, is computed for LANES elements at once.
    """
    tops = local(f64, LANES)
    parts = local(f64, LANES)
    for row in range(start, stop):
        top = f64(x[row * n])
        rest = f64(-1.0)  # the first element is added to nothing
        for first in range(0, n, LANES):
            values = at(x, row * n + first)
            y = at(out, row * n + first)
            lanes = min(LANES, n - first)
            for j in range(lanes):
                tops[j] = top
                value = f64(values[j])
                top = value if (value > top or value != value) else top
            for j in range(lanes):
                parts[j] = _shrunk(f64(values[j]), tops[j])
            for j in range(lanes):
                value = f64(values[j])
                larger = value > tops[j]
                rest = (1.0 + rest) * parts[j] if larger else rest + parts[j]
                parts[j] = rest
            for j in range(lanes):
                value = f64(values[j])
                most = value if (value > tops[j] or value != value) else tops[j]
                y[j] = real(_with_rest(most, parts[j]))


@kernel
def column_logsumexp(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    """The same down each column."""
    top = local(f64, LANES)
    rest = local(f64, LANES)
    for b in range(start, stop):
        first = b % blocks * LANES
        lanes = min(LANES, inner - first)
        begin = b // blocks * n * inner + first
        for j in range(lanes):
            top[j] = f64(x[begin + j])
            rest[j] = -1.0
        for k in range(n):
            row = at(x, begin + k * inner)
            y = at(out, begin + k * inner)
            for j in range(lanes):
                value = f64(row[j])
                part = _shrunk(value, top[j])
                rest[j] = (1.0 + rest[j]) * part if value > top[j] else rest[j] + part
                top[j] = value if (value > top[j] or value != value) else top[j]
                y[j] = real(_with_rest(top[j], rest[j]))


@kernel
def row_differences(x: reals, out: reals, n: i64, start: i64, stop: i64) -> None:
    """Each element of a row less the one before it."""
    for row in range(start, stop):
        values = at(x, row * n)
        y = at(out, row * (n - 1))
        for k in range(n - 1):
            y[k] = values[k + 1] - values[k]


@kernel
def row_places(x: reals, out: i64s, n: i64, sign: real, start: i64, stop: i64) -> None:
    """The latest index of the running maximum of sign * x in each row; of the last NaN if any."""
    keys = local(i64, LANES)  # made by vectors
    for row in range(start, stop):
        top = _LEAST
        place = 0
        for first in range(0, n, LANES):
            values = at(x, row * n + first)
            places = at(out, row * n + first)
            lanes = min(LANES, n - first)
            for j in range(lanes):
                keys[j] = double_key(f64(sign * values[j]))
            for j in range(lanes):
                key = keys[j]
                place = first + j if key >= top else place
                top = max(top, key)
                places[j] = place


@kernel
def column_places(
    x: reals, out: i64s, n: i64, inner: i64, blocks: i64, sign: real, start: i64, stop: i64
) -> None:
    """The same down each column."""
    top = local(real, LANES)
    place = local(i64, LANES)
    for b in range(start, stop):
        first = b % blocks * LANES
        lanes = min(LANES, inner - first)
        begin = b // blocks * n * inner + first
        for j in range(lanes):
            top[j] = sign * x[begin + j]
            place[j] = 0
        for k in range(n):
            row = at(x, begin + k * inner)
            y = at(out, begin + k * inner)
            for j in range(lanes):
                v = sign * row[j]
                later = (v >= top[j]) or (v != v)
                top[j] = v if later else top[j]
                place[j] = k if later else place[j]
                y[j] = place[j]


@kernel
def row_integer_places(x: i64s, out: i64s, n: i64, flip: i64, start: i64, stop: i64) -> None:
    """As `row_places`, of integers; of the minimum with `flip` -1, which reverses their order."""
    for row in range(start, stop):
        values = at(x, row * n)
        places = at(out, row * n)
        top = values[0] ^ flip
        place = 0
        for k in range(n):
            v = values[k] ^ flip
            place = k if v >= top else place
            top = max(top, v)
            places[k] = place


@kernel
def column_integer_places(
    x: i64s, out: i64s, n: i64, inner: i64, blocks: i64, flip: i64, start: i64, stop: i64
) -> None:
    """The same down each column."""
    top = local(i64, LANES)
    place = local(i64, LANES)
    for b in range(start, stop):
        first = b % blocks * LANES
        lanes = min(LANES, inner - first)
        begin = b // blocks * n * inner + first
        for j in range(lanes):
            top[j] = x[begin + j] ^ flip
            place[j] = 0
        for k in range(n):
            row = at(x, begin + k * inner)
            y = at(out, begin + k * inner)
            for j in range(lanes):
                v = row[j] ^ flip
                place[j] = k if v >= top[j] else place[j]
                top[j] = max(top[j], v)
                y[j] = place[j]


@kernel
def row_recurrence(factor: reals, out: reals, n: i64, back: i64, start: i64, stop: i64) -> None:
    """out[k] += factor[k] * out[k - 1] along each row; out[k + 1] with `back` 1."""
    step = 1 - 2 * back
    for row in range(start, stop):
        place = row * n + back * (n - 1)
        before = out[place]
        for _k in range(1, n):
            place = place + step
            before = out[place] + factor[place] * before
            out[place] = before


@kernel
def column_recurrence(
    factor: reals, out: reals, n: i64, inner: i64, blocks: i64, back: i64, start: i64, stop: i64
) -> None:
    """The same down each column."""
    before = local(real, LANES)
    step = (1 - 2 * back) * inner
    for b in range(start, stop):
        first = b % blocks * LANES
        lanes = min(LANES, inner - first)
        place = (b // blocks * n + back * (n - 1)) * inner + first
        for j in range(lanes):
            before[j] = out[place + j]
        for _k in range(1, n):
            place = place + step
            f = at(factor, place)
            y = at(out, place)
            for j in range(lanes):
                before[j] = y[j] + f[j] * before[j]
                y[j] = before[j]
