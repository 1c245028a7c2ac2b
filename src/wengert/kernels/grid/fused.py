"""Sampling at a grid of points, and its gradients, without lists of taps: as compiled kernels.

The taps of a block of points stay on the stack, for a group of channels after the other. Inputs are
(batch, channels, elements), points (batch, points, axes).
"""

from __future__ import annotations

from wengert.kernels.grid.native import located, point_taps, within
from wengert.kernels.jit import exact_kernel
from wengert.kernels.jit.builtins import at, floor, i64, i64s, inline, local, real, reals

# Points of a piece of work, and the most taps of one: 4 x 4, or 2 x 2 x 2.
BLOCK = 64
MOST = 16
# Channels of a piece of work that writes to elements, all of which it may reach.
GROUP = 16


@inline
def _between(
    points: reals, n: i64, order: i64, padding: i64, align: i64, count: i64, bases: reals,
    before: reals, behind: reals,
) -> None:  # fmt: skip
    """Of two taps along an axis the first, as a float, and their shares, or the slopes of these."""
    moved = local(real, 2)
    for p in range(count):
        x = located(points[2 * p], n, align)
        within(x, n, padding, align, moved)
        base = floor(moved[0])
        t = moved[0] - base
        slope = moved[1] * (real(n - align) / 2.0)
        bases[p] = base
        before[p] = -slope if order == 1 else 1.0 - t
        behind[p] = slope if order == 1 else t


@inline
def _bilinear_taps(
    points: reals, sizes: i64s, orders: i64s, padding: i64, align: i64, count: i64, places: i64s,
    shares: reals, inside: i64s,
) -> None:  # fmt: skip
    """The taps of points between four elements: steps that vectors can take."""
    row = local(real, BLOCK)
    above = local(real, BLOCK)
    below = local(real, BLOCK)
    column = local(real, BLOCK)
    left = local(real, BLOCK)
    right = local(real, BLOCK)
    height = sizes[0]
    width = sizes[1]
    _between(at(points, 1), height, orders[0], padding, align, count, row, above, below)
    _between(points, width, orders[1], padding, align, count, column, left, right)
    for p in range(count):
        shares[4 * p] = above[p] * left[p]
        shares[4 * p + 1] = above[p] * right[p]
        shares[4 * p + 2] = below[p] * left[p]
        shares[4 * p + 3] = below[p] * right[p]
    for p in range(count):
        # Far outside, or where a point is no number, no tap is an element.
        near = row[p] >= -1.0 and row[p] < real(height)
        near = near and column[p] >= -1.0 and column[p] < real(width)
        y = i64(row[p] if near else real(-2.0))
        x = i64(column[p] if near else real(-2.0))
        first = y * width + x
        top = y >= 0
        bottom = y >= -1 and y + 1 < height
        start = x >= 0
        end = x >= -1 and x + 1 < width
        places[4 * p] = first if (top and start) else -1
        places[4 * p + 1] = first + 1 if (top and end) else -1
        places[4 * p + 2] = first + width if (bottom and start) else -1
        places[4 * p + 3] = first + width + 1 if (bottom and end) else -1
        inside[p] = 1 if (top and bottom and start and end) else 0


@inline
def _block_taps(
    points: reals, sizes: i64s, orders: i64s, axes: i64, mode: i64, padding: i64, align: i64,
    count: i64, places: i64s, shares: reals, inside: i64s,
) -> i64:  # fmt: skip
    """The taps of some points, and whether all of a point's are elements."""
    if mode == 2 and axes == 2:
        _bilinear_taps(points, sizes, orders, padding, align, count, places, shares, inside)
        return 4
    taps = 1
    for _d in range(axes):
        taps = taps * mode
    for p in range(count):
        mine = at(places, p * taps)
        point_taps(
            at(points, p * axes), sizes, orders, axes, mode, padding, align, mine,
            at(shares, p * taps),
        )  # fmt: skip
        whole = 1
        for t in range(taps):
            whole = whole if mine[t] >= 0 else 0
        inside[p] = whole
    return taps


@inline
def _read(x: reals, place: i64) -> real:
    """An element; zero where there is none."""
    value = x[max(place, 0)]
    return value if place >= 0 else 0.0


# What follows handles points between four elements, of which `inside` says whether all are there;
# `step` is the length of a row of elements.


@inline
def _samples(
    x: reals, out: reals, places: i64s, shares: reals, inside: i64s, width: i64, step: i64,
    count: i64, some: i64, channels: i64,
) -> None:  # fmt: skip
    """The samples of some points in some channels."""
    for p in range(some):
        i = at(places, 4 * p)
        w = at(shares, 4 * p)
        if inside[p] == 1:
            for k in range(channels):
                upper = at(x, k * width + i[0])
                lower = at(x, k * width + i[0] + step)
                low = upper[0] * w[0] + upper[1] * w[1]
                out[k * count + p] = low + (lower[0] * w[2] + lower[1] * w[3])
        else:
            for k in range(channels):
                source = at(x, k * width)
                low = _read(source, i[0]) * w[0] + _read(source, i[1]) * w[1]
                high = _read(source, i[2]) * w[2] + _read(source, i[3]) * w[3]
                out[k * count + p] = low + high


@inline
def _spread(
    g: reals, out: reals, places: i64s, shares: reals, inside: i64s, step: i64, some: i64
) -> None:
    """The adjoint of `_samples` for a channel, added to what is there."""
    for p in range(some):
        slope = g[p]
        i = at(places, 4 * p)
        w = at(shares, 4 * p)
        if inside[p] == 1:
            upper = at(out, i[0])
            lower = at(out, i[0] + step)
            upper[0] = upper[0] + w[0] * slope
            upper[1] = upper[1] + w[1] * slope
            lower[0] = lower[0] + w[2] * slope
            lower[1] = lower[1] + w[3] * slope
        else:
            for t in range(4):
                if i[t] >= 0:
                    out[i[t]] = out[i[t]] + w[t] * slope


@inline
def _products(
    g: reals, x: reals, places: i64s, inside: i64s, products: reals, width: i64, step: i64,
    count: i64, some: i64, channels: i64,
) -> None:  # fmt: skip
    """The adjoint of `_samples` by shares, added to what is there."""
    for p in range(some):
        i = at(places, 4 * p)
        to = at(products, 4 * p)
        a = to[0]
        b = to[1]
        c = to[2]
        d = to[3]
        if inside[p] == 1:
            for k in range(channels):
                slope = g[k * count + p]
                upper = at(x, k * width + i[0])
                lower = at(x, k * width + i[0] + step)
                a = a + upper[0] * slope
                b = b + upper[1] * slope
                c = c + lower[0] * slope
                d = d + lower[1] * slope
        else:
            for k in range(channels):
                slope = g[k * count + p]
                source = at(x, k * width)
                a = a + _read(source, i[0]) * slope
                b = b + _read(source, i[1]) * slope
                c = c + _read(source, i[2]) * slope
                d = d + _read(source, i[3]) * slope
        to[0] = a
        to[1] = b
        to[2] = c
        to[3] = d


@inline
def _any_products(
    g: reals, x: reals, places: i64s, products: reals, width: i64, count: i64, some: i64,
    channels: i64, taps: i64,
) -> None:  # fmt: skip
    """The same of any number of taps."""
    for c in range(channels):
        for p in range(some):
            for t in range(p * taps, (p + 1) * taps):
                value = _read(at(x, c * width), places[t])
                products[t] = products[t] + value * g[c * count + p]


@exact_kernel
def sampled(
    x: reals, points: reals, sizes: i64s, out: reals, channels: i64, width: i64, count: i64,
    axes: i64, mode: i64, padding: i64, align: i64, blocks: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The samples: of each block of points, all channels."""
    places = local(i64, BLOCK * MOST)
    shares = local(real, BLOCK * MOST)
    inside = local(i64, BLOCK)
    orders = local(i64, 3)
    for d in range(3):
        orders[d] = 0
    for b in range(start, stop):
        n = b // blocks
        first = b % blocks * BLOCK
        some = min(BLOCK, count - first)
        here = at(points, (n * count + first) * axes)
        taps = _block_taps(
            here, sizes, orders, axes, mode, padding, align, some, places, shares, inside
        )
        source = at(x, n * channels * width)
        target = at(out, n * channels * count + first)
        if taps == 4:
            fours = channels // 4
            for k in range(fours):
                _samples(
                    at(source, 4 * k * width), at(target, 4 * k * count), places, shares, inside,
                    width, sizes[1], count, some, 4,
                )  # fmt: skip
            _samples(
                at(source, 4 * fours * width), at(target, 4 * fours * count), places, shares,
                inside, width, sizes[1], count, some, channels - 4 * fours,
            )  # fmt: skip
        else:
            for c in range(channels):
                for p in range(some):
                    total = real(0.0)
                    for t in range(p * taps, (p + 1) * taps):
                        total = total + _read(at(source, c * width), places[t]) * shares[t]
                    target[c * count + p] = total


@exact_kernel
def input_gradient(
    g: reals, points: reals, sizes: i64s, out: reals, channels: i64, width: i64, count: i64,
    axes: i64, mode: i64, padding: i64, align: i64, groups: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """By the elements of a group of channels of an input; `out` has been zero."""
    places = local(i64, BLOCK * MOST)
    shares = local(real, BLOCK * MOST)
    inside = local(i64, BLOCK)
    orders = local(i64, 3)
    for d in range(3):
        orders[d] = 0
    for u in range(start, stop):
        n = u // groups
        low = u % groups * GROUP
        high = min(low + GROUP, channels)
        for first in range(0, count, BLOCK):
            some = min(BLOCK, count - first)
            here = at(points, (n * count + first) * axes)
            taps = _block_taps(
                here, sizes, orders, axes, mode, padding, align, some, places, shares, inside
            )
            for c in range(n * channels + low, n * channels + high):
                target = at(out, c * width)
                source = at(g, c * count + first)
                if taps == 4:
                    _spread(source, target, places, shares, inside, sizes[1], some)
                else:
                    for p in range(some):
                        for t in range(p * taps, (p + 1) * taps):
                            place = places[t]
                            if place >= 0:
                                target[place] = target[place] + shares[t] * source[p]


@exact_kernel
def grid_gradient(
    g: reals, x: reals, points: reals, sizes: i64s, out: reals, channels: i64, width: i64,
    count: i64, axes: i64, mode: i64, padding: i64, align: i64, blocks: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """By the coordinates of each block of points."""
    places = local(i64, BLOCK * MOST)
    slopes = local(real, BLOCK * MOST)
    products = local(real, BLOCK * MOST)
    inside = local(i64, BLOCK)
    orders = local(i64, 3)
    for d in range(3):
        orders[d] = 0
    for b in range(start, stop):
        n = b // blocks
        first = b % blocks * BLOCK
        some = min(BLOCK, count - first)
        here = at(points, (n * count + first) * axes)
        taps = _block_taps(
            here, sizes, orders, axes, mode, padding, align, some, places, slopes, inside
        )
        for t in range(some * taps):
            products[t] = 0.0
        source = at(x, n * channels * width)
        slope = at(g, n * channels * count + first)
        if taps == 4:
            _products(
                slope, source, places, inside, products, width, sizes[1], count, some, channels
            )
        else:
            _any_products(slope, source, places, products, width, count, some, channels, taps)
        for d in range(axes):
            orders[d] = 1
            _block_taps(
                here, sizes, orders, axes, mode, padding, align, some, places, slopes, inside
            )
            orders[d] = 0
            for p in range(some):
                total = real(0.0)
                for t in range(p * taps, (p + 1) * taps):
                    total = total + products[t] * slopes[t]
                out[(n * count + first + p) * axes + axes - 1 - d] = total
