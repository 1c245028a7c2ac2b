"""Special functions for kernels of float32, computed in double precision and rounded once.

Each says its largest error, in units of the last place (ulp). Left of 0 the zeros of the gamma
functions, between poles, are as far off as 1e-9 of what is summed there. The polynomials of the
Bessel functions are our own fits, of relative errors below 2e-10.

References:
    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), chapter 6.
    M. J. Wichura, Algorithm AS 241: The percentage points of the normal distribution,
    Applied Statistics 37 (1988).
"""

from __future__ import annotations

import math

from wengert.kernels.jit.builtins import (
    copysign,
    f32,
    f64,
    fabs,
    inline,
    maximum,
    minimum,
    rint,
    sqrt,
    trunc,
)
from wengert.kernels.jit.mathlib64 import (
    digamma_double,
    exp_double,
    log1p_double,
    log_double,
    quantile_far,
    quantile_near,
)
from wengert.kernels.jit.precise import cosine_64, sine_64

# Quotients beyond which `fmod` would not be exact.
WIDEST_QUOTIENT = 1e8
_PI, _LN2 = 3.141592653589793, 0.6931471805599453


@inline
def fmod(x: f32, y: f32) -> f32:
    """What truncated division leaves, for |x| <= 1e8 |y|; exact."""
    a = f64(x)
    b = f64(y)
    r = f32(a - trunc(a / b) * b)
    r = x if (fabs(y) == math.inf and fabs(x) < math.inf) else r
    return copysign(r, x) if r == r else r


@inline
def logaddexp(x: f32, y: f32) -> f32:
    """log(exp(x) + exp(y)); 0.6 ulp."""
    top = f64(x if x > y else y)
    far = -fabs(f64(x) - f64(y))
    r = f32(top + log1p_double(exp_double(far)))
    # Of two infinities the difference is no number.
    r = x if x == y and fabs(x) == math.inf else r
    return r if (x == x and y == y) else x + y


@inline
def logaddexp2(x: f32, y: f32) -> f32:
    """log2(2**x + 2**y); 0.6 ulp."""
    top = f64(x if x > y else y)
    far = -fabs(f64(x) - f64(y))
    r = f32(top + log1p_double(exp_double(far * _LN2)) / _LN2)
    r = x if x == y and fabs(x) == math.inf else r
    return r if (x == x and y == y) else x + y


@inline
def erfinv(x: f32) -> f32:
    """The inverse of the error function; 0.6 ulp."""
    m = f64(fabs(x))
    near = quantile_near(m)
    far = quantile_far(sqrt(-log_double(maximum(0.5 - 0.5 * m, f64(1e-30)))) - 1.6)
    y = copysign(f32(0.7071067811865476 * (near if m <= 0.85 else far)), x)
    y = copysign(math.inf, x) if m == 1.0 else y
    return y if m <= 1.0 else math.nan


@inline
def _sine_of_pi(t: f64) -> f64:
    """The sine of pi t for t from 0 to 1/2."""
    return sine_64(_PI * t) if t < 0.25 else cosine_64(_PI * (0.5 - t))


@inline
def lgamma(x: f32) -> f32:
    """The logarithm of the absolute value of the gamma function; 0.6 ulp for x > 0."""
    m = fabs(f64(x))
    # |gamma(m)| is that of y = m + 8 over m (m + 1) ... (m + 7), whose factors pair up to
    # u + 0, 6, 10 and 12; that of -m has a factor by reflection (6.1.17).
    short = m < 8.0
    u = m * (m + 7.0)
    product = u * (u + 6.0) * ((u + 10.0) * (u + 12.0)) if short else f64(1.0)
    y = m + 8.0 if short else m
    # Stirling's series (6.1.40).
    w = 1.0 / y
    s = w * w
    p = f64(0.006410256410256410) * s - 0.001917526917526918
    p = p * s + 0.0008417508417508417
    p = p * s - 0.0005952380952380952
    p = p * s + 0.0007936507936507937
    p = p * s - 0.002777777777777778
    p = p * s + 0.08333333333333333
    upper = (y - 0.5) * log_double(y) - y + 0.9189385332046727 + p * w
    left = x < 0.0
    t = fabs(m - rint(m))
    mirrored = _PI * product / maximum(m * _sine_of_pi(t), f64(1e-300))
    r = upper - log_double(mirrored if left else maximum(product, f64(1e-300)))
    r = -r if left else r
    # Beside the zeros at 1 and 2, where logarithms cancel, a power series (6.1.33).
    one = m < 1.5
    z = m - (f64(1.0) if one else f64(2.0))
    p = (f64(0.27058080842778454) if one else f64(0.020580808427784545)) * z
    p = (p - (f64(0.40068563438653143) if one else f64(0.06735230105319809))) * z
    p = (p + (f64(0.8224670334241132) if one else f64(0.3224670334241132))) * z
    p = (p - (f64(0.5772156649015329) if one else f64(-0.42278433509846713))) * z
    r = p + 0.0 if (x > 0.0 and fabs(z) < 0.00390625) else r  # not -0
    r = math.inf if (m == 0.0 or (left and t == 0.0) or m == math.inf) else r
    return f32(r) if x == x else x


@inline
def digamma(x: f32) -> f32:
    """The derivative of log gamma; 0.6 ulp for x > 0."""
    a = f64(x)
    left = a < 0.5
    y = digamma_double(1.0 - a if left else a)
    # By reflection (6.3.7): the tangent of pi (x - round(x)).
    d = a - rint(a)
    t = fabs(d)
    sine = _sine_of_pi(t)
    cosine = _sine_of_pi(0.5 - t)
    r = f32(y - copysign(_PI * cosine / maximum(sine, f64(1e-300)), d) if left else y)
    r = math.nan if (left and t == 0.0) else r
    r = copysign(math.inf, -x) if x == 0.0 else r
    r = math.inf if x == math.inf else r
    r = math.nan if x == -math.inf else r
    return r if x == x else x


@inline
def _trigamma_positive(x: f64) -> f64:
    """For x > 0, by recurrence (6.4.6), and a series (6.4.12) from 8 on."""
    # The sum of 1 / (x + k)**2 for k < 8 as one fraction. For k and 7 - k, with c = k (7 - k),
    # it is (2 u + 49 - 2 c) / (u + c)**2.
    short = x < 8.0
    u = x * (x + 7.0)
    b = u + 6.0
    c = u + 10.0
    d = u + 12.0
    first = u * b * (u * b)
    second = c * d * (c * d)
    top = ((2.0 * u + 49.0) * (b * b) + (2.0 * u + 37.0) * (u * u)) * second
    top = top + ((2.0 * u + 29.0) * (d * d) + (2.0 * u + 25.0) * (c * c)) * first
    shifted = top / (first * second) if short else f64(0.0)
    y = x + 8.0 if short else x
    s = 1.0 / (y * y)
    p = f64(1.1666666666666667) * s - 0.2531135531135531
    p = p * s + 0.07575757575757576
    p = p * s - 0.03333333333333333
    p = p * s + 0.023809523809523808
    p = p * s - 0.03333333333333333
    p = p * s + 0.16666666666666666
    return shifted + (1.0 + (0.5 + p / y) / y) / y


@inline
def trigamma(x: f32) -> f32:
    """The derivative of digamma; 0.6 ulp for x > 0. Infinite at 0 and the negative integers."""
    a = f64(x)
    left = a < 0.5
    y = _trigamma_positive(1.0 - a if left else a)
    # By reflection (6.4.7).
    t = fabs(a - rint(a))
    ratio = _PI / maximum(_sine_of_pi(t), f64(1e-150))
    r = f32(ratio * ratio - y if left else y)
    r = math.inf if (left and t == 0.0) else r
    return r if x == x else x


@inline
def _pair_of_cubes(a: f64, b: f64) -> f64:
    """1 / a**3 + 1 / b**3."""
    both = a * b
    return (a + b) * (a * a - both + b * b) / (both * both * both)


@inline
def _tetragamma_positive(x: f64) -> f64:
    """For x > 0, by recurrence (6.4.6), and a series (6.4.13) from 8 on."""
    short = x < 8.0
    m = x if short else f64(1.0)
    shifted = _pair_of_cubes(m, m + 7.0) + _pair_of_cubes(m + 1.0, m + 6.0)
    shifted = shifted + _pair_of_cubes(m + 2.0, m + 5.0) + _pair_of_cubes(m + 3.0, m + 4.0)
    y = x + 8.0 if short else x
    w = 1.0 / y
    s = w * w
    p = f64(-3.2904761904761903) * s + 0.8333333333333334
    p = p * s - 0.3
    p = p * s + 0.16666666666666666
    p = p * s - 0.16666666666666666
    p = p * s + 0.5
    return -(2.0 * (shifted if short else f64(0.0)) + (1.0 + (1.0 + p * w) * w) * s)


@inline
def tetragamma(x: f32) -> f32:
    """The derivative of trigamma; 0.6 ulp for x > 0. Infinite at 0 and the negative integers."""
    a = f64(x)
    left = a < 0.5
    y = _tetragamma_positive(1.0 - a if left else a)
    # By reflection (6.4.7).
    d = a - rint(a)
    t = fabs(d)
    sine = maximum(_sine_of_pi(t), f64(1e-100))
    slope = copysign(2.0 * _PI * _PI * _PI * _sine_of_pi(0.5 - t) / (sine * sine * sine), d)
    r = f32(y - slope if left else y)
    r = -math.inf if (left and (t == 0.0 or x == -math.inf)) else r
    return r if x == x else x


@inline
def _i0e(m: f64) -> f64:
    """exp(-m) I0(m) for m >= 0: in m up to 8, in 8 / m beyond."""
    t = 0.25 * minimum(m, f64(8.0)) - 1.0
    p = f64(4.9179880568712156e-05) * t - 0.00013592012253898714
    p = p * t + 0.00010271895372353992
    p = p * t - 0.00020636304369520323
    p = p * t + 0.0009352329018954977
    p = p * t - 0.0020461394012041252
    p = p * t + 0.003554440492795164
    p = p * t - 0.00660593608475731
    p = p * t + 0.011991198838098599
    p = p * t - 0.019775351862593438
    p = p * t + 0.03016828583734163
    p = p * t - 0.04295725061526631
    p = p * t + 0.056778814876906565
    p = p * t - 0.06954651416184207
    p = p * t + 0.07927504490850901
    p = p * t - 0.08496284076142374
    p = p * t + 0.08734342458343457
    p = p * t - 0.08904346645650232
    p = p * t + 0.0945156284250967
    p = p * t - 0.11300432654348769
    p = p * t + 0.20700192122398736
    near = p
    t = 16.0 / maximum(m, f64(8.0)) - 1.0
    p = f64(3.213436793092329e-09) * t + 3.173468388039891e-08
    p = p * t + 1.0222957496983727e-07
    p = p * t + 3.0712517720011826e-07
    p = p * t + 1.4801668713066518e-06
    p = p * t + 1.1139924005198348e-05
    p = p * t + 0.0001362163481029829
    p = p * t + 0.0033605522271073587
    p = p * t + 0.4021765094450083
    return near if m < 8.0 else p / sqrt(m)


@inline
def _i1e(m: f64) -> f64:
    """exp(-m) I1(m) for m >= 0."""
    t = 0.25 * minimum(m, f64(8.0)) - 1.0
    p = f64(5.984165891451906e-06) * t - 1.745475917505956e-05
    p = p * t + 1.7599515052700538e-05
    p = p * t - 4.0772624197105836e-05
    p = p * t + 0.0001571544240723248
    p = p * t - 0.0003684470959940697
    p = p * t + 0.0007375930468316366
    p = p * t - 0.0015172279414557587
    p = p * t + 0.0030091920029870025
    p = p * t - 0.005545309611277041
    p = p * t + 0.009582902462082904
    p = p * t - 0.015567987669806814
    p = p * t + 0.02368621308488389
    p = p * t - 0.0336719705736235
    p = p * t + 0.044674552717893085
    p = p * t - 0.05527997679608079
    p = p * t + 0.06376740463796131
    p = p * t - 0.06848260910543515
    p = p * t + 0.06805759989686741
    p = p * t - 0.06112433799007411
    p = p * t + 0.04468770987560915
    near = p * m
    t = 16.0 / maximum(m, f64(8.0)) - 1.0
    p = f64(-4.236898502683957e-09) * t - 3.590463744474358e-08
    p = p * t - 1.1423534045848254e-07
    p = p * t - 3.5819536634051623e-07
    p = p * t - 1.8310212388061097e-06
    p = p * t - 1.5035390361737705e-05
    p = p * t - 0.000219236053390019
    p = p * t - 0.00974957744113413
    p = p * t + 0.38939845902587245
    return near if m < 8.0 else p / sqrt(m)


@inline
def i0e(x: f32) -> f32:
    """exp(-|x|) I0(x), of the modified Bessel function of order 0; 0.6 ulp."""
    r = f32(_i0e(f64(fabs(x))))
    return r if x == x else x


@inline
def i1e(x: f32) -> f32:
    """exp(-|x|) I1(x), of order 1; 0.6 ulp."""
    r = copysign(f32(_i1e(f64(fabs(x)))), x)
    return r if (x == x and x != 0.0) else x + 0.0


@inline
def i0(x: f32) -> f32:
    """The modified Bessel function of order 0, NaN of infinities; 0.6 ulp."""
    m = f64(fabs(x))
    r = math.inf if fabs(x) > 100.0 else f32(_i0e(m) * exp_double(m))
    return r if fabs(x) < math.inf else math.nan


@inline
def i1(x: f32) -> f32:
    """That of order 1; 0.6 ulp."""
    m = f64(fabs(x))
    r = math.inf if fabs(x) > 100.0 else f32(_i1e(m) * exp_double(m))
    r = copysign(r, x) if x != 0.0 else 0.0
    return r if fabs(x) < math.inf else math.nan
