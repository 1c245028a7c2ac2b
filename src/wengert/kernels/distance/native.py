"""Distances between rows, and their pullbacks, as compiled kernels.

The second set of rows comes transposed: many of its rows lie side by side, as the lanes of vectors.
The differences themselves are summed, so that close points lose no digits: in the float type over
at most some hundred terms of a row, in float64 between such blocks.
"""

from __future__ import annotations

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    at,
    copysign,
    f64,
    f64s,
    fabs,
    i64,
    inline,
    local,
    maximum,
    real,
    reals,
    sqrt,
)
from wengert.kernels.jit.precise import pow

# Rows that lie side by side, and terms of a sum in the float type.
LANES, BLOCK = 128, 256
# Rows of a sum in a pullback.
STRIP = 1024


@inline
def _add_squares(x: reals, y: reals, part: reals, lanes: i64, stride: i64, size: i64) -> None:
    """Add the squared differences of some columns: eight at a time, each read once."""
    whole = size // 8 * 8
    for k in range(0, whole, 8):
        c0 = x[k]
        c1 = x[k + 1]
        c2 = x[k + 2]
        c3 = x[k + 3]
        c4 = x[k + 4]
        c5 = x[k + 5]
        c6 = x[k + 6]
        c7 = x[k + 7]
        y0 = at(y, k * stride)
        y1 = at(y0, stride)
        y2 = at(y1, stride)
        y3 = at(y2, stride)
        y4 = at(y3, stride)
        y5 = at(y4, stride)
        y6 = at(y5, stride)
        y7 = at(y6, stride)
        for j in range(lanes):
            a = (c0 - y0[j]) * (c0 - y0[j]) + (c1 - y1[j]) * (c1 - y1[j])
            b = (c2 - y2[j]) * (c2 - y2[j]) + (c3 - y3[j]) * (c3 - y3[j])
            c = (c4 - y4[j]) * (c4 - y4[j]) + (c5 - y5[j]) * (c5 - y5[j])
            d = (c6 - y6[j]) * (c6 - y6[j]) + (c7 - y7[j]) * (c7 - y7[j])
            part[j] = part[j] + ((a + b) + (c + d))
    for k in range(whole, size):
        c0 = x[k]
        y0 = at(y, k * stride)
        for j in range(lanes):
            part[j] = part[j] + (c0 - y0[j]) * (c0 - y0[j])


@inline
def _add_sizes(x: reals, y: reals, part: reals, lanes: i64, stride: i64, size: i64) -> None:
    """Add the absolute differences of some columns."""
    whole = size // 4 * 4
    for k in range(0, whole, 4):
        c0 = x[k]
        c1 = x[k + 1]
        c2 = x[k + 2]
        c3 = x[k + 3]
        y0 = at(y, k * stride)
        y1 = at(y0, stride)
        y2 = at(y1, stride)
        y3 = at(y2, stride)
        for j in range(lanes):
            low = fabs(c0 - y0[j]) + fabs(c1 - y1[j])
            part[j] = part[j] + (low + (fabs(c2 - y2[j]) + fabs(c3 - y3[j])))
    for k in range(whole, size):
        c0 = x[k]
        y0 = at(y, k * stride)
        for j in range(lanes):
            part[j] = part[j] + fabs(c0 - y0[j])


@inline
def _strip(
    x: reals, y: reals, out: reals, part: reals, total: f64s, lanes: i64, stride: i64, width: i64,
    root: i64,
) -> None:  # fmt: skip
    """The distances of a row to some that lie side by side."""
    for j in range(lanes):
        total[j] = 0.0
    for k in range(0, width, BLOCK):
        size = min(BLOCK, width - k)
        for j in range(lanes):
            part[j] = 0.0
        if root != 0:
            _add_squares(at(x, k), at(y, k * stride), part, lanes, stride, size)
        else:
            _add_sizes(at(x, k), at(y, k * stride), part, lanes, stride, size)
        for j in range(lanes):
            total[j] = total[j] + f64(part[j])
    if root != 0:
        for j in range(lanes):
            out[j] = sqrt(real(total[j]))
    else:
        for j in range(lanes):
            out[j] = real(total[j])


@kernel
def euclidean(
    x: reals, y: reals, out: reals, n: i64, m: i64, width: i64, root: i64, start: i64, stop: i64
) -> None:
    """Of each row of x, from `start` to `stop` of all batches of `n`, to all `m` rows of y.

    With `root` 0 the sums of absolute differences instead of the roots of sums of squares.
    """
    part = local(real, LANES)
    total = local(f64, LANES)
    for first in range(0, m, LANES):
        lanes = min(LANES, m - first)
        for row in range(start, stop):
            p = at(x, row * width)
            q = at(y, row // n * width * m + first)
            _strip(p, q, at(out, row * m + first), part, total, lanes, m, width, root)


@kernel
def pairs(
    x: reals, y: reals, out: reals, n: i64, width: i64, root: i64, start: i64, stop: i64
) -> None:
    """Of each row to those behind it, the pairs of the first row first; y is x, transposed."""
    part = local(real, LANES)
    total = local(f64, LANES)
    for first in range(0, n, LANES):
        for row in range(start, min(stop, first + LANES)):
            begin = max(first, row + 1)
            lanes = min(first + LANES, n) - begin
            place = row * (2 * n - row - 1) // 2 + begin - row - 1
            p = at(x, row * width)
            if lanes > 0:
                _strip(p, at(y, begin), at(out, place), part, total, lanes, n, width, root)


@kernel
def largest(
    x: reals, y: reals, out: reals, n: i64, m: i64, width: i64, start: i64, stop: i64
) -> None:
    """As `euclidean`, the largest absolute differences; NaN if there is one."""
    for first in range(0, m, LANES):
        lanes = min(LANES, m - first)
        for row in range(start, stop):
            o = at(out, row * m + first)
            for j in range(lanes):
                o[j] = 0.0
            for k in range(width):
                c = x[row * width + k]
                q = at(y, (row // n * width + k) * m + first)
                for j in range(lanes):
                    o[j] = maximum(o[j], fabs(c - q[j]))


@kernel
def powers(
    x: reals, y: reals, out: reals, n: i64, m: i64, width: i64, p: real, start: i64, stop: i64
) -> None:
    """As `euclidean`, of any power, for float32."""
    total = local(f64, LANES)
    for first in range(0, m, LANES):
        lanes = min(LANES, m - first)
        for row in range(start, stop):
            for j in range(lanes):
                total[j] = 0.0
            for k in range(width):
                c = x[row * width + k]
                q = at(y, (row // n * width + k) * m + first)
                for j in range(lanes):
                    total[j] = total[j] + f64(pow(fabs(c - q[j]), p))
            o = at(out, row * m + first)
            for j in range(lanes):
                o[j] = pow(real(total[j]), real(1.0 / p))


# Pullbacks: for each row of x and column the sum over the rows of y, from strip to strip.


@kernel
def euclidean_pullback(
    x: reals, y: reals, ratio: reals, out: reals, n: i64, m: i64, width: i64, start: i64, stop: i64
) -> None:
    """The sums of `ratio` times the differences; `out` has been zero."""
    whole = width // 4 * 4
    for first in range(0, m, STRIP):
        lanes = min(STRIP, m - first)
        for row in range(start, stop):
            r = at(ratio, row * m + first)
            p = at(x, row * width)
            o = at(out, row * width)
            q = at(y, row // n * width * m + first)
            for k in range(0, whole, 4):
                c0 = p[k]
                c1 = p[k + 1]
                c2 = p[k + 2]
                c3 = p[k + 3]
                y0 = at(q, k * m)
                y1 = at(y0, m)
                y2 = at(y1, m)
                y3 = at(y2, m)
                s0 = 0.0
                s1 = 0.0
                s2 = 0.0
                s3 = 0.0
                for j in range(lanes):
                    s0 += r[j] * (c0 - y0[j])
                    s1 += r[j] * (c1 - y1[j])
                    s2 += r[j] * (c2 - y2[j])
                    s3 += r[j] * (c3 - y3[j])
                o[k] = o[k] + s0
                o[k + 1] = o[k + 1] + s1
                o[k + 2] = o[k + 2] + s2
                o[k + 3] = o[k + 3] + s3
            for k in range(whole, width):
                c0 = p[k]
                y0 = at(q, k * m)
                s0 = 0.0
                for j in range(lanes):
                    s0 += r[j] * (c0 - y0[j])
                o[k] = o[k] + s0


@kernel
def sizes_pullback(
    x: reals, y: reals, g: reals, out: reals, n: i64, m: i64, width: i64, start: i64, stop: i64
) -> None:
    """The sums of `g` with the signs of the differences."""
    for first in range(0, m, STRIP):
        lanes = min(STRIP, m - first)
        for row in range(start, stop):
            r = at(g, row * m + first)
            for k in range(width):
                c = x[row * width + k]
                q = at(y, (row // n * width + k) * m + first)
                s = 0.0
                for j in range(lanes):
                    d = c - q[j]
                    s += (r[j] if d > 0.0 else 0.0) - (r[j] if d < 0.0 else 0.0)
                out[row * width + k] = out[row * width + k] + s


@kernel
def largest_pullback(
    x: reals, y: reals, g: reals, distances: reals, out: reals, n: i64, m: i64, width: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The same, of the differences that are as large as the distance."""
    for first in range(0, m, STRIP):
        lanes = min(STRIP, m - first)
        for row in range(start, stop):
            r = at(g, row * m + first)
            t = at(distances, row * m + first)
            for k in range(width):
                c = x[row * width + k]
                q = at(y, (row // n * width + k) * m + first)
                s = 0.0
                for j in range(lanes):
                    d = c - q[j]
                    s += (r[j] if (d == t[j] and d != 0.0) else 0.0) - (
                        r[j] if (-d == t[j] and d != 0.0) else 0.0
                    )
                out[row * width + k] = out[row * width + k] + s


@kernel
def powers_pullback(
    x: reals, y: reals, g: reals, inverse: reals, out: reals, n: i64, m: i64, width: i64,
    exponent: real, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The sums of `g` times (difference / distance) ** exponent, with its sign; for float32."""
    for first in range(0, m, STRIP):
        lanes = min(STRIP, m - first)
        for row in range(start, stop):
            r = at(g, row * m + first)
            t = at(inverse, row * m + first)
            for k in range(width):
                c = x[row * width + k]
                q = at(y, (row // n * width + k) * m + first)
                s = 0.0
                for j in range(lanes):
                    d = c - q[j]
                    share = copysign(pow(fabs(d) * t[j], exponent), d) * r[j]
                    s += share if d != 0.0 and t[j] != 0.0 else 0.0
                out[row * width + k] = out[row * width + k] + s


@inline
def _pair_weights(
    g: reals, far: reals, weights: reals, row: i64, first: i64, many: i64, n: i64, root: i64
) -> None:
    """What the differences of a row from some others count: their cotangents, over distances."""
    for j in range(many):
        other = first + j
        low = min(row, other)
        high = max(row, other)
        place = low * n - low * (low + 1) // 2 + high - low - 1
        size = far[place]
        weights[j] = g[place] if root == 0 else (g[place] / size if size != 0.0 else 0.0)


@inline
def _pulled(a: real, b: real, weight: real, root: i64) -> real:
    """The part of a pair; of the sign of a difference if `root` is 0."""
    difference = a - b
    up = weight if difference > 0.0 else 0.0
    sided = -weight if difference < 0.0 else up
    return weight * difference if root != 0 else sided


@inline
def _add_pulled(
    row: reals, others: reals, weights: reals, part: reals, many: i64, columns: i64, width: i64,
    root: i64,
) -> None:  # fmt: skip
    """Add the parts of the pairs with some others: four at a time."""
    whole = many // 4 * 4
    for j in range(0, whole, 4):
        x0 = at(others, j * width)
        x1 = at(x0, width)
        x2 = at(x1, width)
        x3 = at(x2, width)
        w0 = weights[j]
        w1 = weights[j + 1]
        w2 = weights[j + 2]
        w3 = weights[j + 3]
        for k in range(columns):
            low = _pulled(row[k], x0[k], w0, root) + _pulled(row[k], x1[k], w1, root)
            high = _pulled(row[k], x2[k], w2, root) + _pulled(row[k], x3[k], w3, root)
            part[k] = part[k] + (low + high)
    for j in range(whole, many):
        x4 = at(others, j * width)
        w4 = weights[j]
        for k in range(columns):
            part[k] = part[k] + _pulled(row[k], x4[k], w4, root)


@kernel
def pairs_pullback(
    x: reals, g: reals, far: reals, out: reals, n: i64, width: i64, root: i64, start: i64, stop: i64
) -> None:
    """The cotangents of rows, of those of their distances, as of `pairs`."""
    weights = local(real, BLOCK)
    part = local(real, BLOCK)
    total = local(f64, BLOCK)
    for row in range(start, stop):
        for column in range(0, width, BLOCK):
            columns = min(BLOCK, width - column)
            mine = at(x, row * width + column)
            for k in range(columns):
                total[k] = 0.0
            for side in range(2):  # those before, then those behind
                end = n if side == 1 else row
                for first in range(row + 1 if side == 1 else 0, end, BLOCK):
                    many = min(BLOCK, end - first)
                    _pair_weights(g, far, weights, row, first, many, n, root)
                    for k in range(columns):
                        part[k] = 0.0
                    theirs = at(x, first * width + column)
                    if root != 0:
                        _add_pulled(mine, theirs, weights, part, many, columns, width, 1)
                    else:
                        _add_pulled(mine, theirs, weights, part, many, columns, width, 0)
                    for k in range(columns):
                        total[k] = total[k] + f64(part[k])
            for k in range(columns):
                out[row * width + column + k] = real(total[k])
