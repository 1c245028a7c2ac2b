"""The integrals of `quantiles` as compiled kernels: several elements side by side, as a vector.

The rule's nodes are y = w exp(s - exp(-s)) for a width w and s = low, low + step, ...; those where
the integrand has fallen far enough are left out.
"""

from __future__ import annotations

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import (
    at,
    f32,
    f64,
    f64s,
    fabs,
    i64,
    inline,
    local,
    maximum,
    minimum,
    sqrt,
)
from wengert.kernels.jit.mathlib import exp
from wengert.kernels.jit.mathlib64 import (
    digamma_double,
    exp_double,
    expm1_double,
    log1p_double,
    log_double,
)

LANES = 16


@inline
def _take(x: f64s, lanes: f64s, count: i64) -> None:
    """The elements of a group; ones where there is none."""
    for r in range(LANES):
        lanes[r] = 1.0
    for r in range(count):
        lanes[r] = x[r]


@inline
def _nodes(ends: f64s, widths: f64s, low: f64, step: f64, size: i64) -> i64:
    """How many nodes lie before the last of the ends."""
    largest = f64(8.0)
    for r in range(LANES):
        largest = maximum(largest, minimum(ends[r] / widths[r], 1e300))
    return min(size, i64((log_double(largest) - low) / step) + 2)


@inline
def _margin(a: f64) -> f64:
    return 1.0 / a - 1.0 / (1.0 + a)


@inline
def _phi(y: f32) -> f32:
    """exp(y) - 1 - y, by its series near 0; about 4 ulp."""
    p = 1.6059043836821613e-10 * y + 2.08767569878681e-9
    p = p * y + 2.505210838544172e-8
    p = p * y + 2.755731922398589e-7
    p = p * y + 2.7557319223985893e-6
    p = p * y + 2.48015873015873e-5
    p = p * y + 1.984126984126984e-4
    p = p * y + 1.388888888888889e-3
    p = p * y + 8.333333333333333e-3
    p = p * y + 4.1666666666666664e-2
    p = p * y + 0.16666666666666666
    p = p * y + 0.5
    far = exp(y) - f32(1.0) - y
    return p * y * y if fabs(y) < 1.0 else far


@inline
def _single_sums(
    shapes: f64s, xs: f64s, signs: f64s, offsets: f64s, widths: f64s, nodes: f64s, weights: f64s,
    count: i64, sums: f64s,
) -> None:  # fmt: skip
    """The sums of a group in float32. In what is raised to e nothing cancels."""
    leads = local(f32, LANES)
    scales = local(f32, LANES)
    steps = local(f32, LANES)
    shifts = local(f32, LANES)
    totals = local(f32, LANES)
    for r in range(LANES):
        leads[r] = f32(shapes[r] - xs[r])
        scales[r] = f32(xs[r])
        steps[r] = f32(signs[r] * widths[r])
        shifts[r] = f32(offsets[r])
        totals[r] = 0.0
    for j in range(count):
        node = f32(nodes[j])
        weight = f32(weights[j])
        for r in range(LANES):
            y = steps[r] * node
            value = exp(leads[r] * y - scales[r] * _phi(y))
            totals[r] = totals[r] + weight * (value * (shifts[r] + y))
    for r in range(LANES):
        sums[r] = f64(totals[r])


@kernel
def gamma_slopes(
    a: f64s, x: f64s, out: f64s, nodes: f64s, weights: f64s, size: i64, low: f64, step: f64,
    far: f64, single: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """As `quantiles.gamma_quantile_slope`, of positive x.

    The integrand over the side below has y with the other sign, and the integral, too. It is
    computed in float32 where that is enough (`single`) and has the range.
    """
    shapes = local(f64, LANES)
    xs = local(f64, LANES)
    signs = local(f64, LANES)
    offsets = local(f64, LANES)
    widths = local(f64, LANES)
    ends = local(f64, LANES)
    sums = local(f64, LANES)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        _take(at(a, first), shapes, count)
        _take(at(x, first), xs, count)
        for r in range(LANES):
            b = shapes[r]
            z = xs[r]
            offsets[r] = log_double(z) - digamma_double(b)
            below = offsets[r] < _margin(b)
            narrow = 1.0 / (fabs(b - z) + sqrt(z))
            above = log1p_double(narrow)
            signs[r] = f64(-1.0) if below else f64(1.0)
            widths[r] = narrow if below else above
            # Below, the integrand is less than exp(x - a y); above, it falls as fast as anywhere.
            ends[r] = (far + z) / b if below else 2.0 * far * above
            sums[r] = 0.0
        used = _nodes(ends, widths, low, step, size)
        usual = single
        for r in range(LANES):
            inside = shapes[r] >= 0.2 and shapes[r] < 1e6 and xs[r] < 1e6
            usual = usual if inside else 0
        if usual != 0:
            _single_sums(shapes, xs, signs, offsets, widths, nodes, weights, used, sums)
            used = 0
        for j in range(used):
            node = nodes[j]
            weight = weights[j]
            for r in range(LANES):
                y = signs[r] * widths[r] * node
                power = shapes[r] * y - xs[r] * expm1_double(y)
                sums[r] = sums[r] + weight * (exp_double(power) * (offsets[r] + y))
        for r in range(count):
            out[first + r] = signs[r] * xs[r] * widths[r] * sums[r]


@kernel
def beta_slopes(
    x: f64s, a: f64s, b: f64s, out: f64s, nodes: f64s, weights: f64s, size: i64, low: f64,
    step: f64, far: f64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """As `quantiles.dirichlet_quantile_slope`, of positive x.

    The integrand over the side above is that below for 1 - x, b and a, but for a logarithm.
    """
    near = local(f64, LANES)  # the concentrations, that of the side first
    other = local(f64, LANES)
    odds = local(f64, LANES)
    offsets = local(f64, LANES)
    widths = local(f64, LANES)
    ends = local(f64, LANES)
    sums = local(f64, LANES)
    factors = local(f64, LANES)
    signs = local(f64, LANES)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        _take(at(x, first), odds, count)
        _take(at(a, first), near, count)
        _take(at(b, first), other, count)
        for r in range(LANES):
            z = odds[r]
            p = near[r]
            q = other[r]
            offsets[r] = log_double(z) - (digamma_double(p) - digamma_double(p + q))
            below = offsets[r] < (_margin(p) if z < 0.5 else f64(0.0))
            rest = (1.0 - z) if below else z
            z = z if below else 1.0 - z
            near[r] = p if below else q
            other[r] = (q if below else p) - 1.0
            odds[r] = z / rest
            slope = fabs(near[r] - other[r] * odds[r])
            widths[r] = 1.0 / (slope + sqrt(fabs(other[r]) * z) / rest)
            factors[r] = -odds[r] * widths[r] if below else widths[r]
            signs[r] = f64(1.0) if below else f64(0.0)
            # The other power is at most this.
            ends[r] = (far + maximum(-other[r] * log_double(rest), 0.0)) / near[r]
            sums[r] = 0.0
        for j in range(_nodes(ends, widths, low, step, size)):
            node = nodes[j]
            weight = weights[j]
            for r in range(LANES):
                y = widths[r] * node
                ratio = log1p_double(-odds[r] * expm1_double(-y))
                value = exp_double(other[r] * ratio - near[r] * y)
                change = ratio - signs[r] * (ratio + y)
                sums[r] = sums[r] + weight * (value * (offsets[r] + change))
        for r in range(count):
            out[first + r] = factors[r] * sums[r]
