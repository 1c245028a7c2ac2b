"""Elementary functions for kernels: polynomials that LLVM turns into vector code.

Each says its largest error, in units of the last place (ulp), over all floats; NaN, infinities,
signed zeros and subnormal numbers come out as in C. Most follow the minimax polynomials of
Cephes (Moshier, 1984-2000); `make accuracy` measures the errors.
"""

from __future__ import annotations

import math

from wengert.kernels.jit.builtins import (
    bits,
    copysign,
    f32,
    fabs,
    from_bits,
    i32,
    inline,
    of_doubles,
    rint,
)
from wengert.kernels.jit.mathlib64 import exp_bounded_double
from wengert.kernels.jit.mathlib64 import log as log_of_doubles
from wengert.kernels.jit.mathlib64 import sigmoid as sigmoid_of_doubles
from wengert.kernels.jit.mathlib64 import tanh as tanh_of_doubles


@inline
def exp(x: f32) -> f32:
    """e to the power of x; 1.3 ulp."""
    # Beyond these bounds as at them: the result is 0, or infinite.
    c = -104.0 if x < -104.0 else x
    c = 89.0 if c > 89.0 else c
    n = rint(c * 1.44269504088896341)
    r = (c - n * 0.693359375) - n * -2.12194440e-4
    p = 1.9875691500e-4 * r + 1.3981999507e-3
    p = p * r + 8.3334519073e-3
    p = p * r + 4.1665795894e-2
    p = p * r + 1.6666665459e-1
    p = p * r + 5.0000001201e-1
    y = p * (r * r) + (r + 1.0)
    k = i32(n)
    # In two steps: the power of two of a subnormal result is no normal number.
    half = k >> 1
    y = y * from_bits((half + 127) << 23) * from_bits((k - half + 127) << 23)
    return y if x == x else x


@of_doubles(exp_bounded_double)
def exp_bounded(x: f32) -> f32:
    """e to the power of x <= 0, with 0 below -87.6; 1.3 ulp. For softmax and its kin."""
    c = -88.0 if x < -88.0 else x
    n = rint(c * 1.44269504088896341)
    r = (c - n * 0.693359375) - n * -2.12194440e-4
    p = 1.9875691500e-4 * r + 1.3981999507e-3
    p = p * r + 8.3334519073e-3
    p = p * r + 4.1665795894e-2
    p = p * r + 1.6666665459e-1
    p = p * r + 5.0000001201e-1
    # Of -88 the power of two is 0, by the bits of an exponent of -127.
    y = (p * (r * r) + (r + 1.0)) * from_bits((i32(n) + 127) << 23)
    return y if x == x else x


@of_doubles(log_of_doubles)
def log(x: f32) -> f32:
    """The natural logarithm; 0.9 ulp."""
    tiny = x < 1.17549435e-38
    scaled = x * 8388608.0 if tiny else x
    e = (bits(scaled) - 1060439283) >> 23
    f = from_bits(bits(scaled) - (e << 23)) - 1.0
    n = f32(e) - (23.0 if tiny else 0.0)
    z = f * f
    p = 7.0376836292e-2 * f - 1.1514610310e-1
    p = p * f + 1.1676998740e-1
    p = p * f - 1.2420140846e-1
    p = p * f + 1.4249322787e-1
    p = p * f - 1.6668057665e-1
    p = p * f + 2.0000714765e-1
    p = p * f - 2.4999993993e-1
    p = p * f + 3.3333331174e-1
    y = f * z * p + n * -2.12194440e-4 - 0.5 * z
    y = (f + y) + n * 0.693359375
    y = math.nan if x < 0.0 else y
    y = -math.inf if x == 0.0 else y
    y = math.inf if x == math.inf else y
    return y if x == x else x


@of_doubles(tanh_of_doubles)
def tanh(x: f32) -> f32:
    """The hyperbolic tangent; 1.4 ulp. By a polynomial where exp(2|x|) + 1 would lose digits."""
    m = fabs(x)
    z = x * x
    p = -5.70498872745e-3 * z + 2.06390887954e-2
    p = p * z - 5.37397155531e-2
    p = p * z + 1.33314422036e-1
    p = p * z - 3.33332819422e-1
    near = copysign(p * z * x + x, x)
    c = 9.1 if m > 9.1 else m
    far = copysign(1.0 - 2.0 / (exp_positive(2.0 * c) + 1.0), x)
    y = near if m < 0.625 else far
    return y if x == x else x


@inline
def exp_positive(x: f32) -> f32:
    """e to the power of x between 0 and 88; 1.3 ulp."""
    n = rint(x * 1.44269504088896341)
    r = (x - n * 0.693359375) - n * -2.12194440e-4
    p = 1.9875691500e-4 * r + 1.3981999507e-3
    p = p * r + 8.3334519073e-3
    p = p * r + 4.1665795894e-2
    p = p * r + 1.6666665459e-1
    p = p * r + 5.0000001201e-1
    return (p * (r * r) + (r + 1.0)) * from_bits((i32(n) + 127) << 23)


@of_doubles(sigmoid_of_doubles)
def sigmoid(x: f32) -> f32:
    """1 / (1 + exp(-x)); 2.3 ulp."""
    e = exp(-fabs(x))
    return (e if x < 0.0 else 1.0) / (1.0 + e)


@inline
def erf(x: f32) -> f32:
    """The error function; 4.5 ulp. Our own fit of erf(x) / x in x**2, for |x| <= 4."""
    c = 4.0 if x > 4.0 else x
    c = -4.0 if c < -4.0 else c
    s = c * c
    p = 1.986778443097137e-06 * s + 0.0002845672715920955
    p = p * s + 0.0038833904545754194
    p = p * s + 0.05310188978910446
    p = p * s + 0.1935461014509201
    p = p * s + 1.1283791065216064
    q = 3.7420206353999674e-05 * s + 0.0011855830671265721
    q = q * s + 0.015207342803478241
    q = q * s + 0.11535043269395828
    q = q * s + 0.5048583149909973
    y = c * p / (q * s + 1.0)
    y = 1.0 if y > 1.0 else y
    return -1.0 if y < -1.0 else y


@inline
def log1p(x: f32) -> f32:
    """log(1 + x), accurate near zero; 0.9 ulp."""
    u = 1.0 + x
    e = (bits(u) - 1060439283) >> 23
    f = from_bits(bits(u) - (e << 23)) - 1.0
    n = f32(e)
    # What the sum lost, and how much the logarithm loses by that.
    lost = (x - (u - 1.0)) / u
    z = f * f
    p = 7.0376836292e-2 * f - 1.1514610310e-1
    p = p * f + 1.1676998740e-1
    p = p * f - 1.2420140846e-1
    p = p * f + 1.4249322787e-1
    p = p * f - 1.6668057665e-1
    p = p * f + 2.0000714765e-1
    p = p * f - 2.4999993993e-1
    p = p * f + 3.3333331174e-1
    y = f * z * p + (n * -2.12194440e-4 + lost) - 0.5 * z
    y = (f + y) + n * 0.693359375
    y = math.nan if x < -1.0 else y
    y = -math.inf if x == -1.0 else y
    return x if (x == math.inf or x == 0.0 or x != x) else y
