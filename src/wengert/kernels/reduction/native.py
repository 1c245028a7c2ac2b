"""Reductions as compiled kernels.

Sums are accumulated in the float type over at most some dozens of terms per vector lane, and in
float64 between such blocks: their error is a few float32 ulps of the sum of magnitudes, however
long they are.
"""

from __future__ import annotations

import math

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    at,
    f16s,
    f32,
    f32s,
    f64,
    f64s,
    i32,
    i64,
    i64s,
    inline,
    local,
    maximum,
    minimum,
    real,
    reals,
    sqrt,
    storeds,
    u16s,
)
from wengert.kernels.jit.reals import from_brain

# Terms of a sum in the float type, along a row and down a column; columns processed together.
BLOCK, DEEP, LANES = 1024, 64, 1024


@inline
def row_sum(row: storeds, size: i64) -> f64:
    """The sum of a row."""
    whole = f64(0.0)
    for first in range(0, size, BLOCK):
        part = 0.0
        for j in range(first, min(first + BLOCK, size)):
            part += row[j]
        whole += f64(part)
    return whole


@inline
def row_squares(row: storeds, mean: real, size: i64) -> f64:
    """The sum of squared distances from the mean."""
    whole = f64(0.0)
    for first in range(0, size, BLOCK):
        part = 0.0
        for j in range(first, min(first + BLOCK, size)):
            d = row[j] - mean
            part += d * d
        whole += f64(part)
    return whole


@inline
def row_product(row: reals, size: i64) -> f64:
    """The product of a row, in float64, which float32 values do not easily overflow."""
    whole = f64(1.0)
    for j in range(size):
        whole *= f64(row[j])
    return whole


@kernel
def chunk_sums(x: reals, parts: f64s, chunk: i64, start: i64, stop: i64) -> None:
    parts[start // chunk] = row_sum(at(x, start), stop - start)


@kernel
def chunk_squares(x: reals, mean: real, parts: f64s, chunk: i64, start: i64, stop: i64) -> None:
    parts[start // chunk] = row_squares(at(x, start), mean, stop - start)


@kernel
def row_sums(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        out[r] = real(row_sum(at(x, r * width), width))


@kernel
def strided_row_sums(
    x: reals, out: reals, width: i64, inner: i64, far: i64, near: i64, start: i64, stop: i64
) -> None:
    """As `row_sums`, of rows with gaps between them, and others between groups of `inner` rows."""
    for r in range(start, stop):
        out[r] = real(row_sum(at(x, r // inner * far + r % inner * near), width))


@inline
def _half_sum(row: f16s, size: i64) -> f64:
    whole = f64(0.0)
    for first in range(0, size, BLOCK):
        part = f32(0.0)
        for j in range(first, min(first + BLOCK, size)):
            part += f32(row[j])
        whole += f64(part)
    return whole


@inline
def _brain_sum(row: u16s, size: i64) -> f64:
    whole = f64(0.0)
    for first in range(0, size, BLOCK):
        part = f32(0.0)
        for j in range(first, min(first + BLOCK, size)):
            part += from_brain(row[j])
        whole += f64(part)
    return whole


@kernel
def half_sums(x: f16s, out: f32s, width: i64, start: i64, stop: i64) -> None:
    """The sums of rows of float16."""
    for r in range(start, stop):
        out[r] = f32(_half_sum(at(x, r * width), width))


@kernel
def brain_sums(x: u16s, out: f32s, width: i64, start: i64, stop: i64) -> None:
    """The sums of rows of bfloat16, of which there are the bits."""
    for r in range(start, stop):
        out[r] = f32(_brain_sum(at(x, r * width), width))


@kernel
def half_chunk_sums(x: f16s, parts: f64s, chunk: i64, start: i64, stop: i64) -> None:
    parts[start // chunk] = _half_sum(at(x, start), stop - start)


@kernel
def brain_chunk_sums(x: u16s, parts: f64s, chunk: i64, start: i64, stop: i64) -> None:
    parts[start // chunk] = _brain_sum(at(x, start), stop - start)


@kernel
def chunk_products(x: reals, parts: f64s, chunk: i64, start: i64, stop: i64) -> None:
    parts[start // chunk] = row_product(at(x, start), stop - start)


@kernel
def row_products(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        out[r] = real(row_product(at(x, r * width), width))


@kernel
def row_norms(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        out[r] = real(sqrt(row_squares(at(x, r * width), real(0.0), width)))


@kernel
def row_variances(x: reals, out: reals, width: i64, degrees: f64, start: i64, stop: i64) -> None:
    """Sums of squared distances from the mean, over the degrees of freedom."""
    for r in range(start, stop):
        row = at(x, r * width)
        mean = real(row_sum(row, width) / f64(width))
        out[r] = real(row_squares(row, mean, width) / degrees)


@kernel
def middle_sums(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    """The sums over n of an array (outer, n, inner), for blocks of columns."""
    # b = (outer, block of LANES columns); element k of column i is at (outer * n + k) * inner + i.
    part = local(real, LANES)
    whole = local(f64, LANES)
    for b in range(start, stop):
        column = (b % blocks) * LANES
        place = (b // blocks) * n * inner + column
        lanes = min(LANES, inner - column)
        for j in range(lanes):
            whole[j] = 0.0
        for first in range(0, n, DEEP):
            for j in range(lanes):
                part[j] = 0.0
            for k in range(first, min(first + DEEP, n)):
                row = at(x, place + k * inner)
                for j in range(lanes):
                    part[j] = part[j] + row[j]
            for j in range(lanes):
                whole[j] = whole[j] + f64(part[j])
        y = at(out, (b // blocks) * inner + column)
        for j in range(lanes):
            y[j] = real(whole[j])


@kernel
def middle_variances(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, degrees: f64, start: i64, stop: i64
) -> None:
    """As `row_variances`, over n of an array (outer, n, inner), for blocks of columns."""
    mean = local(f64, LANES)
    whole = local(f64, LANES)
    for b in range(start, stop):
        column = (b % blocks) * LANES
        place = (b // blocks) * n * inner + column
        lanes = min(LANES, inner - column)
        for j in range(lanes):
            mean[j] = 0.0
            whole[j] = 0.0
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                mean[j] = mean[j] + f64(row[j])
        for j in range(lanes):
            mean[j] = mean[j] / f64(n)
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                distance = f64(row[j]) - mean[j]
                whole[j] = whole[j] + distance * distance
        y = at(out, (b // blocks) * inner + column)
        for j in range(lanes):
            y[j] = real(whole[j] / degrees)


@inline
def _largest(row: reals, size: i64) -> real:
    top = real(-math.inf)
    for j in range(size):
        top = maximum(top, row[j])
    return top


@inline
def _smallest(row: reals, size: i64) -> real:
    top = real(math.inf)
    for j in range(size):
        top = minimum(top, row[j])
    return top


@inline
def _place(row: reals, value: real, size: i64) -> i64:
    """The index of the first element that equals the value, or is NaN."""
    place = i32(size)
    for j in range(size):
        v = row[j]
        place = min(place, i32(j) if (v == value) or (v != v) else i32(size))
    return place


@kernel
def row_maxima(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        out[r] = _largest(at(x, r * width), width)


@kernel
def row_minima(x: reals, out: reals, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        out[r] = _smallest(at(x, r * width), width)


@kernel
def row_argmaxima(x: reals, out: i64s, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        row = at(x, r * width)
        out[r] = _place(row, _largest(row, width), width)


@kernel
def row_argminima(x: reals, out: i64s, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        row = at(x, r * width)
        out[r] = _place(row, _smallest(row, width), width)


@inline
def _tops_of_columns(x: reals, top: reals, n: i64, inner: i64, lanes: i64, sign: real) -> None:
    for j in range(lanes):
        top[j] = -math.inf
    for k in range(n):
        row = at(x, k * inner)
        for j in range(lanes):
            top[j] = maximum(top[j], sign * row[j])


@inline
def _extremes_of_columns(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, sign: real, start: i64, stop: i64
) -> None:
    top = local(real, LANES)
    for b in range(start, stop):
        column = (b % blocks) * LANES
        place = (b // blocks) * n * inner + column
        lanes = min(LANES, inner - column)
        _tops_of_columns(at(x, place), top, n, inner, lanes, sign)
        y = at(out, (b // blocks) * inner + column)
        for j in range(lanes):
            y[j] = sign * top[j]


@kernel
def middle_maxima(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    """As `row_maxima`, over n of an array (outer, n, inner), for blocks of columns."""
    _extremes_of_columns(x, out, n, inner, blocks, real(1.0), start, stop)


@kernel
def middle_minima(
    x: reals, out: reals, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    _extremes_of_columns(x, out, n, inner, blocks, real(-1.0), start, stop)


@inline
def _places_of_columns(
    x: reals, out: i64s, n: i64, inner: i64, blocks: i64, sign: real, start: i64, stop: i64
) -> None:
    top = local(real, LANES)
    first = local(i32, LANES)
    for b in range(start, stop):
        column = (b % blocks) * LANES
        place = (b // blocks) * n * inner + column
        lanes = min(LANES, inner - column)
        _tops_of_columns(at(x, place), top, n, inner, lanes, sign)
        for j in range(lanes):
            first[j] = i32(n)
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                v = sign * row[j]
                here = i32(k) if (v == top[j]) or (v != v) else i32(n)
                first[j] = min(first[j], here)
        y = at(out, (b // blocks) * inner + column)
        for j in range(lanes):
            y[j] = i64(first[j])


@kernel
def middle_argmaxima(
    x: reals, out: i64s, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    """As `row_argmaxima`, over n of an array (outer, n, inner), for blocks of columns."""
    _places_of_columns(x, out, n, inner, blocks, real(1.0), start, stop)


@kernel
def middle_argminima(
    x: reals, out: i64s, n: i64, inner: i64, blocks: i64, start: i64, stop: i64
) -> None:
    _places_of_columns(x, out, n, inner, blocks, real(-1.0), start, stop)
