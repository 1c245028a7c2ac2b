"""Samplers as compiled kernels. Most draw as many uniform numbers as it takes.

Those are given a block of uniforms from [0, 1) and say in `position` how far they have come: how
many elements are DONE, and how many uniforms are USED. Each stops before an element for which the
block does not suffice. What they draw, and in which order, is PyTorch's; they are exact, so that
the numbers are, too.
"""

from __future__ import annotations

import math

from wengert.kernels.jit import exact_kernel, kernel
from wengert.kernels.jit.builtins import (
    at,
    ceil,
    f64,
    f64s,
    fabs,
    floor,
    i64,
    i64s,
    inline,
    real,
    reals,
    sqrt,
)
from wengert.kernels.jit.libm import cos, exp, lgamma, log, log1p, pow, sin

# Where `position` has what.
DONE, USED = 0, 1

# What a sampler of one number returns where the block does not suffice: no sample is negative.
SHORT = -1.0

# In single precision, as PyTorch has it.
_SQUEEZE = 0.03310000151395798
_TWO_PI = 6.283185307179586


@inline
def _uniform(u: f64s, position: i64s) -> f64:
    value = u[position[USED]]
    position[USED] = position[USED] + 1
    return value


@inline
def _normal(u: f64s, position: i64s, spare: f64s) -> f64:
    """A normal number of two uniforms; the other half of the pair, if there is one, first."""
    value = spare[0]
    if spare[1] == 0.0:
        angle = _TWO_PI * _uniform(u, position)
        radius = sqrt(-2.0 * log1p(-_uniform(u, position)))
        spare[0] = radius * sin(angle)
        value = radius * cos(angle)
    spare[1] = 1.0 - spare[1]
    return value


@inline
def _gamma(d: f64, power: f64, u: f64s, size: i64, position: i64s, spare: f64s) -> f64:
    """One gamma number of shape d + 1/3, by rejection, times a uniform to some power.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM
    Transactions on Mathematical Software 26 (2000).
    """
    scale = f64(1.0)
    if power != 0.0:
        if position[USED] == size:
            return f64(SHORT)
        scale = pow(1.0 - _uniform(u, position), power)
    c = 1.0 / sqrt(9.0 * d)
    while position[USED] + 3 <= size:
        x = _normal(u, position, spare)
        root = 1.0 + c * x
        if not root <= 0.0:
            v = root * root * root
            rest = 1.0 - _uniform(u, position)
            square = x * x
            # A quick test that most pass, then the exact one.
            if rest < 1.0 - _SQUEEZE * square * square:
                return scale * d * v
            if log(rest) < 0.5 * square + d * (1.0 - v + log(v)):
                return scale * d * v
    return f64(SHORT)


@exact_kernel
def gammas(
    shapes: f64s, less: f64s, powers: f64s, out: f64s, u: f64s, size: i64, spare: f64s,
    position: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Of rate 1. A shape below 1 is drawn as one more, with a power of a uniform as a factor.

    `less` has the shapes that are drawn, less 1/3; `powers` the powers, or 0. `spare` is half a
    pair of normals, and whether it is there.
    """
    for i in range(position[DONE], stop):
        used = position[USED]
        half = spare[0]
        there = spare[1]
        y = f64(0.0)
        if shapes[i] != 0.0:
            y = _gamma(less[i], powers[i], u, size, position, spare)
        if y < 0.0:
            position[USED] = used
            spare[0] = half
            spare[1] = there
            return
        out[i] = y
        position[DONE] = i + 1


@inline
def _few_events(rate: f64, u: f64s, size: i64, position: i64s) -> f64:
    """How many uniforms can be multiplied before the product falls below exp(-rate)."""
    limit = exp(-rate)
    product = f64(1.0)
    count = f64(0.0)
    while position[USED] < size:
        product = product * _uniform(u, position)
        if product <= limit:
            return count
        count = count + 1.0
    return f64(SHORT)


@inline
def _many_events(rate: f64, u: f64s, size: i64, position: i64s) -> f64:
    """By transformed rejection.

    W. Hörmann, "The transformed rejection method for generating Poisson random variables",
    Insurance: Mathematics and Economics 12 (1993), algorithm PTRS.
    """
    log_rate = log(rate)
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2.0)
    while position[USED] + 2 <= size:
        w = _uniform(u, position) - 0.5
        v = _uniform(u, position)
        us = 0.5 - fabs(w)
        k = floor((2.0 * a / us + b) * w + rate + 0.43)
        if us >= 0.07 and v <= quick:
            return k
        if not (k < 0.0 or (us < 0.013 and v > us)):
            accepted = log(v) + log(inverse_alpha) - log(a / (us * us) + b)
            if accepted <= k * log_rate - rate - lgamma(k + 1.0):
                return k
    return f64(SHORT)


@exact_kernel
def poissons(
    rates: f64s, out: f64s, u: f64s, size: i64, spare: f64s, position: i64s, start: i64, stop: i64
) -> None:
    """Of these rates."""
    for i in range(position[DONE], stop):
        used = position[USED]
        rate = rates[i]
        count = f64(0.0)
        if rate >= 10.0:
            count = _many_events(rate, u, size, position)
        elif rate > 0.0:
            count = _few_events(rate, u, size, position)
        if count < 0.0:
            position[USED] = used
            return
        out[i] = count
        position[DONE] = i + 1


@inline
def _few_successes(n: f64, p: f64, u: f64s, size: i64, position: i64s) -> f64:
    """How many geometric waiting times fit into n trials."""
    log_failure = log1p(-p)
    waited = f64(0.0)
    count = f64(0.0)
    while position[USED] < size:
        waited = waited + ceil(log(_uniform(u, position)) / log_failure)
        if waited > n:
            return count
        count = count + 1.0
    return f64(SHORT)


@inline
def _many_successes(n: f64, p: f64, u: f64s, size: i64, position: i64s) -> f64:
    """W. Hörmann, "The generation of binomial random variates", Journal of Statistical
    Computation and Simulation 46 (1993), algorithm BTRS."""
    odds = p / (1.0 - p)
    deviation = sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    mode = floor((n + 1.0) * p)
    while position[USED] + 2 <= size:
        w = _uniform(u, position) - 0.5
        v = _uniform(u, position)
        us = 0.5 - fabs(w)
        k = floor((2.0 * a / us + b) * w + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if not (k < 0.0 or k > n):
            # The probability of k over that of the mode.
            ratio = (k - mode) * log(odds) + lgamma(mode + 1.0) - lgamma(k + 1.0)
            ratio = ratio + lgamma(n - mode + 1.0) - lgamma(n - k + 1.0)
            if log(v * alpha / (a / (us * us) + b)) <= ratio:
                return k
    return f64(SHORT)


@inline
def _successes(n: f64, p: f64, u: f64s, size: i64, position: i64s) -> f64:
    """One number: by waiting times, or where many are likely by transformed rejection."""
    if n != n or p != p:
        return n + p
    if n <= 0.0 or p <= 0.0:
        return f64(0.0)
    if p >= 1.0:
        return n
    rarer = p if p <= 0.5 else 1.0 - p
    k = f64(SHORT)
    if n * rarer < 10.0:
        k = _few_successes(n, rarer, u, size, position)
    else:
        k = _many_successes(n, rarer, u, size, position)
    return k if (p <= 0.5 or k < 0.0) else n - k


@exact_kernel
def binomials(
    counts: f64s, chances: f64s, out: f64s, u: f64s, size: i64, spare: f64s, position: i64s,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """How many of so many trials succeed."""
    for i in range(position[DONE], stop):
        used = position[USED]
        k = _successes(counts[i], chances[i], u, size, position)
        if k < 0.0:
            position[USED] = used
            return
        out[i] = k
        position[DONE] = i + 1


@kernel
def weigh(weights: reals, wrong: i64s, n: i64, start: i64, stop: i64) -> None:
    """Note in `wrong` that a weight is negative or not finite, and that all of a row are 0."""
    for row in range(start, stop):
        bad = 0
        some = 0
        for k in range(row * n, (row + 1) * n):
            weight = weights[k]
            bad = bad | (0 if (weight >= 0.0 and weight < math.inf) else 1)
            some = some | (1 if weight > 0.0 else 0)
        if bad != 0:
            wrong[0] = 1
        if some == 0:
            wrong[1] = 1


@exact_kernel
def categories(
    weights: reals, totals: reals, draws: f64s, out: i64s, n: i64, count: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """For each of a row's draws the first category up to which the weights have that share.

    `totals` is for the rows' running shares, which are in the precision of the weights.
    """
    for row in range(start, stop):
        running = at(totals, row * n)
        total = real(0.0)
        for k in range(n):
            total = total + weights[row * n + k]
            running[k] = total
        for k in range(n):
            running[k] = running[k] / total
        for j in range(row * count, (row + 1) * count):
            draw = draws[j]
            low = i64(0)
            high = n - 1
            while low < high:  # with choices, not jumps, which no processor can foresee
                middle = (low + high) // 2
                before = f64(running[middle]) < draw
                low = middle + 1 if before else low
                high = high if before else middle
            out[j] = low
