"""What points read, and weighted sums of it, as compiled kernels.

Elements are (batch, channels, width); indices and weights (batch, points, taps). An index behind
the last element stands for a zero.
"""

from __future__ import annotations

from wengert.kernels.jit import exact_kernel, kernel
from wengert.kernels.jit.builtins import (
    at,
    f64,
    fabs,
    floor,
    given,
    i64,
    i64s,
    inline,
    local,
    real,
    reals,
    rint,
)

# Points of a piece of work.
BLOCK = 256


@inline
def _read(x: reals, place: i64, width: i64, share: reals) -> real:
    """A share of an element; of zero behind the last one, so that a share of nan stays nan."""
    value = x[min(place, width - 1)]
    return (value if place < width else 0.0) * share[0]


@kernel
def sample(
    x: reals, index: i64s, weight: reals, out: reals, channels: i64, width: i64, points: i64,
    taps: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Of each row of all channels."""
    for row in range(start, stop):
        source = at(x, row * width)
        places = at(index, row // channels * points * taps)
        shares = at(weight, row // channels * points * taps)
        target = at(out, row * points)
        if taps == 4:
            for p in range(points):
                i = at(places, 4 * p)
                w = at(shares, 4 * p)
                low = _read(source, i[0], width, w) + _read(source, i[1], width, at(w, 1))
                high = _read(source, i[2], width, at(w, 2)) + _read(source, i[3], width, at(w, 3))
                target[p] = low + high
        else:
            for p in range(points):
                total = real(0.0)
                for t in range(p * taps, (p + 1) * taps):
                    total = total + _read(source, places[t], width, at(shares, t))
                target[p] = total


@kernel
def spread(
    g: reals, index: i64s, weight: reals, out: reals, channels: i64, width: i64, points: i64,
    taps: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint with respect to the elements; `out` has been zero."""
    for row in range(start, stop):
        source = at(g, row * points)
        places = at(index, row // channels * points * taps)
        shares = at(weight, row // channels * points * taps)
        target = at(out, row * width)
        for p in range(points):
            for t in range(taps):
                place = places[p * taps + t]
                if place < width:
                    target[place] = target[place] + shares[p * taps + t] * source[p]


@kernel
def responses(
    g: reals, x: reals, index: i64s, out: reals, channels: i64, width: i64, points: i64,
    taps: i64, blocks: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint with respect to the weights; `out` has been zero. Of each block of points."""
    for b in range(start, stop):
        n = b // blocks
        first = b % blocks * BLOCK
        places = at(index, n * points * taps)
        target = at(out, n * points * taps)
        for c in range(channels):
            source = at(x, (n * channels + c) * width)
            slope = at(g, (n * channels + c) * points)
            for p in range(first, min(first + BLOCK, points)):
                for t in range(taps):
                    place = places[p * taps + t]
                    value = source[min(place, width - 1)] * slope[p]
                    here = target[p * taps + t]
                    target[p * taps + t] = here + (value if place < width else 0.0)


@inline
def _reflected(x: real, low: real, span: real, out: reals) -> None:
    """A coordinate mirrored at both ends as often as needed, and the sign of its derivative."""
    away = x - low
    size = fabs(away)
    turns = floor(size / span)
    part = size - turns * span
    # The quotient may have been rounded up to a whole number.
    turns = turns - 1.0 if part < 0.0 else turns
    part = part + span if part < 0.0 else part
    odd = turns - 2.0 * floor(turns * 0.5) == 1.0
    sign = real(-1.0) if away < 0.0 else real(1.0)
    out[0] = (span - part if odd else part) + low
    out[1] = -sign if odd else sign


@inline
def within(x: real, n: i64, padding: i64, align: i64, out: reals) -> None:
    """A coordinate after padding (0 by zeros, 1 border, 2 reflection), and its derivative."""
    out[0] = x
    out[1] = 1.0
    if padding == 2:
        if align == 0 or n > 1:
            low = real(0.0) if align != 0 else real(-0.5)
            _reflected(x, low, real(n - align), out)
        else:
            out[0] = 0.0
            out[1] = 0.0
    if padding != 0:
        last = real(n - 1)
        y = out[0]
        inside = y > 0.0 and y < last
        out[1] = out[1] if inside else 0.0
        y = y if y > 0.0 else 0.0  # NaN, too
        out[0] = y if y < last else last


@inline
def _place(x: real, n: i64) -> i64:
    """The element at a whole coordinate; -1 for none."""
    there = x >= 0.0 and x <= real(n - 1)
    return i64(x if there else real(-1.0))


@inline
def _cubic(x: real, n: i64, order: i64, padding: i64, align: i64, shares: reals, places: i64s,
           moved: reals) -> None:  # fmt: skip
    """Four taps by Keys' kernel, with a = -0.75, or their derivatives."""
    base = floor(x)
    t = x - base
    for k in range(4):
        d = fabs(t + 1.0 - real(k))
        close = k == 1 or k == 2
        if order == 0:
            near = 1.0 + d * d * (-2.25 + d * 1.25)
            far = 3.0 + d * (-6.0 + d * (3.75 + d * -0.75))
            shares[k] = near if close else far
        else:
            steep = d * (-4.5 + d * 3.75) if close else -6.0 + d * (7.5 + d * -2.25)
            slope = (steep if k < 2 else -steep) * (real(n - align) / 2.0)
            shares[k] = slope
        within(base + (real(k) - 1.0), n, padding, align, moved)
        places[k] = _place(moved[0], n)


@inline
def _linear(x: real, n: i64, order: i64, slope: real, shares: reals, places: i64s) -> None:
    """Two taps, or their derivatives."""
    base = floor(x)
    t = x - base
    steepness = slope if order == 1 else 0.0
    shares[0] = 1.0 - t if order == 0 else -steepness
    shares[1] = t if order == 0 else steepness
    places[0] = _place(base, n)
    places[1] = _place(base + 1.0, n)


@inline
def located(coordinate: real, n: i64, align: i64) -> real:
    """Where a coordinate from -1 to 1 lies among `n` elements."""
    c = coordinate + 1.0
    return c / 2.0 * real(n - 1) if align != 0 else real(f64(c) * f64(n) - 1.0) / 2.0


@inline
def _along(
    coordinate: real, n: i64, order: i64, mode: i64, padding: i64, align: i64, shares: reals,
    places: i64s, moved: reals,
) -> None:  # fmt: skip
    """The taps along one axis."""
    x = located(coordinate, n, align)
    if mode == 4:
        _cubic(x, n, order, padding, align, shares, places, moved)
    else:
        within(x, n, padding, align, moved)
        if mode == 2:
            slope = moved[1] * (real(n - align) / 2.0)
            _linear(moved[0], n, order, slope, shares, places)
        else:
            shares[0] = 1.0 if order == 0 else 0.0
            places[0] = _place(rint(moved[0]), n)


@inline
def _join(
    places: i64s, shares: reals, count: i64, more: i64s, others: reals, mode: i64, n: i64
) -> None:
    """Each tap with each of one more axis."""
    for b in range(count):
        k = count - 1 - b  # the last first: what is still to be read is not overwritten
        before = places[k]
        share = shares[k]
        for m in range(mode):
            none = before < 0 or more[m] < 0
            places[k * mode + m] = -1 if none else before * n + more[m]
            shares[k * mode + m] = share * others[m]


@inline
def point_taps(
    point: reals, sizes: i64s, orders: i64s, axes: i64, mode: i64, padding: i64, align: i64,
    all_places: i64s, all_shares: reals,
) -> i64:  # fmt: skip
    """The places (-1 for none) and shares of all taps of a point, of which there are so many."""
    shares = local(real, 4)
    places = local(i64, 4)
    moved = local(real, 2)
    all_shares[0] = 1.0
    all_places[0] = 0
    total = 1
    for d in range(axes):
        n = sizes[d]
        _along(point[axes - 1 - d], n, orders[d], mode, padding, align, shares, places, moved)
        _join(all_places, all_shares, total, places, shares, mode, n)
        total = total * mode
    return total


@exact_kernel
def taps(
    points: reals, sizes: i64s, orders: i64s, index: i64s, weight: reals, axes: i64, mode: i64,
    padding: i64, align: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Indices (or None) and weights (or None) of the taps: 1 nearest, 2 linear, 4 cubic by axis.

    The coordinates of a point come in the opposite order of the axes. `orders` says how often the
    weights are differentiated by each axis; at most once if cubic.
    """
    shares = local(real, 16)
    places = local(i64, 16)
    elements = 1
    for d in range(axes):
        elements = elements * sizes[d]
    for p in range(start, stop):
        point = at(points, p * axes)
        total = point_taps(point, sizes, orders, axes, mode, padding, align, places, shares)
        if given(index):
            for t in range(total):
                index[p * total + t] = places[t] if places[t] >= 0 else elements
        if given(weight):
            for t in range(total):
                weight[p * total + t] = shares[t]
