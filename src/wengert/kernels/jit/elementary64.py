"""More elementary functions of doubles for kernels, by the parts of `mathlib64`.

Each says its largest error in units of the last place (ulp); NaN, infinities and signed zeros come
out as in C.

References:
    Sun Microsystems, fdlibm (1993): the polynomials of the inverse sine and tangent.
    W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969).
    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), chapter 6.
    M. J. Wichura, Algorithm AS 241: The percentage points of the normal distribution,
    Applied Statistics 37 (1988).
"""

from __future__ import annotations

import math

from wengert.kernels.jit.builtins import (
    bits64,
    copysign,
    f64,
    fabs,
    from_bits64,
    i32,
    inline,
    maximum,
    minimum,
    rint,
    sqrt,
)
from wengert.kernels.jit.mathlib64 import (
    cosine,
    digamma_double,
    exp,
    less_quarters,
    log,
    log1p_double,
    log_double,
    log_ratio,
    multiply_add,
    quantile_far,
    quantile_near,
    series,
    sine,
    turned,
    two_to,
)

_PI = 3.141592653589793
# Below it x is the value of functions with the slope 1 at 0; they would lose the sign of a zero.
_TINY = 1e-17


@inline
def expm1(x: f64) -> f64:
    """exp(x) - 1, accurate near zero; 2 ulp."""
    c = f64(-700.0) if x < -700.0 else x
    c = f64(710.0) if c > 710.0 else c
    n = rint(c * 1.4426950408889634)
    r = turned(c, n)
    # Half of the power of two, which is in range for the largest results.
    scale = two_to(n - 1.0)
    y = 2.0 * ((r + r * r * series(r)) * scale + (scale - 0.5))
    y = x if fabs(x) < _TINY else y
    return y if x == x else x


@inline
def log1p(x: f64) -> f64:
    """log(1 + x), accurate near zero; 3 ulp."""
    big = x > 1e300
    y = log1p_double(x * 6.223015277861142e-61 if big else x)
    y = y + (f64(138.62943611198907) if big else f64(0.0))
    y = x if (fabs(x) < _TINY or x == math.inf) else y
    y = -math.inf if x == -1.0 else y
    return y if (x >= -1.0 or x != x) else math.nan


@inline
def exp2(x: f64) -> f64:
    """2 to the power of x; 1 ulp where that is normal."""
    c = f64(-1100.0) if x < -1100.0 else x
    c = f64(1100.0) if c > 1100.0 else c
    n = rint(c)
    half = rint(n * 0.5)
    r = (c - n) * 0.6931471805599453
    y = (1.0 + (r + r * r * series(r))) * two_to(half) * two_to(n - half)
    return y if x == x else x


@inline
def _logarithm(x: f64, per_one: f64, high: f64, low: f64) -> f64:
    """The logarithm to a base: of e, and of 2 in two parts, whose first has multiples exactly."""
    small = x < 2.2250738585072014e-308
    scaled = x * 18014398509481984.0 if small else x
    # Mantissas between the root of a half and that of two.
    e = (bits64(scaled) - 4604544271217802189) >> 52
    m = from_bits64(bits64(scaled) - (e << 52))
    n = f64(i32(e)) - (f64(54.0) if small else f64(0.0))
    y = (log_ratio((m - 1.0) / (m + 1.0)) * per_one + n * low) + n * high
    y = -math.inf if x == 0.0 else y
    y = math.inf if x == math.inf else y
    return y if x >= 0.0 else math.nan


@inline
def log2(x: f64) -> f64:
    """The logarithm to the base 2; 4 ulp."""
    return _logarithm(x, f64(1.4426950408889634), f64(1.0), f64(0.0))


@inline
def log10(x: f64) -> f64:
    """The logarithm to the base 10; 4 ulp."""
    return _logarithm(
        x, f64(0.4342944819032518), f64(0.3010299955494702), f64(1.1451100898021838e-10)
    )


@inline
def sinh(x: f64) -> f64:
    """The hyperbolic sine; 3 ulp."""
    a = fabs(x)
    c = f64(712.0) if a > 712.0 else a
    n = rint(c * 1.4426950408889634)
    half = rint(n * 0.5)
    r = turned(c, n)
    p = r + r * r * series(r)
    low = two_to(half)
    high = two_to(n - half - 1.0)
    # Half of exp(a) - 1, and of exp(a) where 1 is nothing beside it.
    h = p * (low * high) + (low * high - 0.5)
    y = (1.0 + p) * low * high if c > 40.0 else h + h / (2.0 * h + 1.0)
    return x if (a < _TINY or x != x) else copysign(y, x)


@inline
def cosh(x: f64) -> f64:
    """The hyperbolic cosine; 2 ulp."""
    a = fabs(x)
    c = f64(712.0) if a > 712.0 else a
    n = rint(c * 1.4426950408889634)
    half = rint(n * 0.5)
    r = turned(c, n)
    h = (1.0 + (r + r * r * series(r))) * two_to(half) * two_to(n - half - 1.0)
    y = h + 0.25 / h
    return y if x == x else x


@inline
def tan(x: f64) -> f64:
    """The tangent for |x| <= 1e6; 3 ulp."""
    n = rint(x * 0.6366197723675814)
    r = less_quarters(x, n)
    s = sine(r)
    c = cosine(r)
    odd = (i32(n) & 1) != 0
    y = (-c if odd else s) / (s if odd else c)
    return y if (x == x and x != 0.0) else x


@inline
def _arcsine_rest(z: f64) -> f64:
    """asin(s) / s - 1 for z = s**2 <= 1/4."""
    p = f64(3.47933107596021167570e-05) * z + 7.91534994289814532176e-04
    p = p * z - 4.00555345006794114027e-02
    p = p * z + 2.01212532134862925881e-01
    p = p * z - 3.25565818622400915405e-01
    p = p * z + 1.66666666666666657415e-01
    q = f64(7.70381505559019352791e-02) * z - 6.88283971605453293030e-01
    q = q * z + 2.02094576023350569471
    q = q * z - 2.40339491173441421878
    return z * p / (q * z + 1.0)


@inline
def asin(x: f64) -> f64:
    """The inverse of the sine; 3 ulp."""
    m = fabs(x)
    near = m <= 0.5
    z = m * m if near else 0.5 - 0.5 * m
    s = m if near else sqrt(z)
    a = s + s * _arcsine_rest(z)
    y = a if near else 1.5707963267948966 - (2.0 * a - 6.123233995736766e-17)
    return copysign(y, x) if m <= 1.0 else math.nan


@inline
def acos(x: f64) -> f64:
    """The inverse of the cosine; 3 ulp."""
    m = fabs(x)
    near = m <= 0.5
    z = m * m if near else 0.5 - 0.5 * m
    s = x if near else sqrt(z)
    a = s + s * _arcsine_rest(z)
    right = 1.5707963267948966 - (a - 6.123233995736766e-17) if near else 2.0 * a
    y = _PI - (2.0 * a - 1.2246467991473532e-16) if x < -0.5 else right
    return y if m <= 1.0 else math.nan


@inline
def _arctangent(t: f64) -> f64:
    """For |t| < 0.4375."""
    z = t * t
    p = f64(1.62858201153657823623e-02) * z - 3.65315727442169155270e-02
    p = p * z + 4.97687799461593236017e-02
    p = p * z - 5.83357013379057348645e-02
    p = p * z + 6.66107313738753120669e-02
    p = p * z - 7.69187620504482999495e-02
    p = p * z + 9.09088713343650656196e-02
    p = p * z - 1.11111104054623557880e-01
    p = p * z + 1.42857142725034663711e-01
    p = p * z - 1.99999999998764832476e-01
    p = p * z + 3.33333333333329318027e-01
    return t - t * z * p


@inline
def atan(x: f64) -> f64:
    """The inverse of the tangent; 2 ulp."""
    m = fabs(x)
    far = m > 2.414213562373095
    middle = m > 0.41421356237309503
    top = f64(-1.0) if far else (m - 1.0 if middle else m)
    bottom = m if far else (m + 1.0 if middle else f64(1.0))
    eighths = f64(2.0) if far else (f64(1.0) if middle else f64(0.0))
    a = _arctangent(top / bottom) + eighths * 3.061616997868383e-17
    y = copysign(eighths * 0.7853981633974483 + a, x)
    return y if x == x else x


@inline
def atan2(y: f64, x: f64) -> f64:
    """The angle of the point (x, y); 3 ulp."""
    a = fabs(y)
    b = fabs(x)
    # A sum of the largest would be infinite.
    scale = f64(0.25) if (a > 1e300 or b > 1e300) else f64(1.0)
    # Of two infinities the ratio is 1, of two zeros 0.
    equal = a == b
    low = f64(1.0) if (equal and a > 0.0) else minimum(a, b) * scale
    high = f64(1.0) if equal else maximum(a, b) * scale
    middle = low > 0.41421356237309503 * high
    t = (low - high if middle else low) / (low + high if middle else high)
    eighths = f64(1.0) if middle else f64(0.0)
    small = _arctangent(t) + eighths * 3.061616997868383e-17
    angle = eighths * 0.7853981633974483 + small
    angle = 1.5707963267948966 - (angle - 6.123233995736766e-17) if a > b else angle
    angle = _PI - (angle - 1.2246467991473532e-16) if copysign(1.0, x) < 0.0 else angle
    return copysign(angle, y) if (x == x and y == y) else x + y


@inline
def asinh(x: f64) -> f64:
    """The inverse of the hyperbolic sine; 4 ulp."""
    c = fabs(x)
    # Where 1 is nothing beside the square: log(2 c).
    big = c > 1e10
    m = f64(1.0) if big else c
    a = log1p(c - 1.0 if big else m + m * m / (1.0 + sqrt(m * m + 1.0)))
    y = a + (f64(0.6931471805599453) if big else f64(0.0))
    return x if (c < _TINY or x != x) else copysign(y, x)


@inline
def acosh(x: f64) -> f64:
    """The inverse of the hyperbolic cosine; 4 ulp."""
    big = x > 1e10
    m = f64(1.0) if big else x - 1.0
    a = log1p(x - 1.0 if big else m + sqrt(maximum(m * (m + 2.0), f64(0.0))))
    y = a + (f64(0.6931471805599453) if big else f64(0.0))
    return y if x >= 1.0 else math.nan


@inline
def atanh(x: f64) -> f64:
    """The inverse of the hyperbolic tangent; 4 ulp."""
    c = fabs(x)
    m = c if c < 1.0 else f64(0.0)
    y = copysign(0.5 * log1p(2.0 * m / (1.0 - m)), x)
    y = copysign(math.inf, x) if c == 1.0 else y
    y = x if c < _TINY else y
    return y if c <= 1.0 else math.nan


@inline
def erfc(x: f64) -> f64:
    """1 - erf(x), accurate for large x; 5 ulp where that is normal."""
    m = fabs(x)
    c = f64(30.0) if m > 30.0 else m
    s = c * c
    # erf(x) / x for |x| <= 15/32,
    p = f64(0.18577770618460315) * s + 3.1611237438705655
    p = p * s + 113.86415415105016
    p = p * s + 377.485237685302
    p = p * s + 3209.3775891384694
    q = s + 23.601290952344122
    q = q * s + 244.02463793444417
    q = q * s + 1282.6165260773723
    q = q * s + 2844.236833439171
    near = 1.0 - x * p / q
    # exp(x**2) erfc(x) up to 4,
    p = f64(2.1531153547440383e-08) * c + 0.5641884969886701
    p = p * c + 8.883149794388377
    p = p * c + 66.11919063714163
    p = p * c + 298.6351381974001
    p = p * c + 881.952221241769
    p = p * c + 1712.0476126340707
    p = p * c + 2051.0783778260716
    p = p * c + 1230.3393547979972
    q = c + 15.744926110709835
    q = q * c + 117.6939508913125
    q = q * c + 537.1811018620099
    q = q * c + 1621.3895745666903
    q = q * c + 3290.7992357334597
    q = q * c + 4362.619090143247
    q = q * c + 3439.3676741437216
    q = q * c + 1230.3393548037495
    # and the remainder of its asymptotic series beyond.
    w = 1.0 / maximum(s, f64(16.0))
    u = f64(0.016315387137302097) * w + 0.30532663496123236
    u = u * w + 0.36034489994980445
    u = u * w + 0.12578172611122926
    u = u * w + 0.016083785148742275
    u = u * w + 0.0006587491615298378
    v = w + 2.568520192289822
    v = v * w + 1.8729528499234673
    v = v * w + 0.5279051029514285
    v = v * w + 0.06051834131244132
    v = v * w + 0.0023352049762686918
    tail = (0.5641895835477563 - w * u / v) / maximum(c, f64(4.0))
    share = p / q if c <= 4.0 else tail
    # The square in two parts: the exponential magnifies what it has lost.
    lost = multiply_add(c, c, -s)
    upper = (share - share * lost) * exp(-s)
    y = near if m <= 0.46875 else (2.0 - upper if x < 0.0 else upper)
    return y if x == x else x


@inline
def erfinv(x: f64) -> f64:
    """The inverse of the error function; 5 ulp."""
    m = fabs(x)
    root = sqrt(-log_double(maximum(0.5 - 0.5 * m, f64(1e-30))))
    t = root - 5.0
    u = f64(2.01033439929228813265e-7) * t + 2.71155556874348757815e-5
    u = u * t + 1.24266094738807843860e-3
    u = u * t + 2.65321895265761230930e-2
    u = u * t + 2.96560571828504891230e-1
    u = u * t + 1.78482653991729133580
    u = u * t + 5.46378491116411436990
    u = u * t + 6.65790464350110377720
    v = f64(2.04426310338993978564e-15) * t + 1.42151175831644588870e-7
    v = v * t + 1.84631831751005468180e-5
    v = v * t + 7.86869131145613259100e-4
    v = v * t + 1.48753612908506148525e-2
    v = v * t + 1.36929880922735805310e-1
    v = v * t + 5.99832206555887937690e-1
    far = u / (v * t + 1.0) if root > 5.0 else quantile_far(root - 1.6)
    y = copysign(0.7071067811865476 * (quantile_near(m) if m <= 0.85 else far), x)
    y = copysign(math.inf, x) if m == 1.0 else y
    return y if m <= 1.0 else math.nan


@inline
def _sine_of_pi(t: f64) -> f64:
    """The sine of pi t for t from 0 to 1/2."""
    return sine(_PI * t) if t < 0.25 else cosine(_PI * (0.5 - t))


@inline
def digamma(x: f64) -> f64:
    """The derivative of log gamma for x > 0; 8 ulp of the larger of it and 1."""
    left = x < 0.5
    y = digamma_double(1.0 - x if left else x)
    # By reflection (6.3.7): the tangent of pi (x - round(x)).
    d = x - rint(x)
    t = fabs(d)
    tangent = copysign(_PI * _sine_of_pi(0.5 - t) / _sine_of_pi(t), d)
    r = y - tangent if left else y
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
    m = x if short else f64(1.0)
    u = m * (m + 7.0)
    b = u + 6.0
    c = u + 10.0
    d = u + 12.0
    first = (2.0 * u + 49.0) / u / u + (2.0 * u + 37.0) / (b * b)
    shifted = first + ((2.0 * u + 29.0) / (c * c) + (2.0 * u + 25.0) / (d * d))
    y = x + 8.0 if short else x
    s = 1.0 / (y * y)
    p = f64(6192.123188405797) * s - 529.1242424242424
    p = p * s + 54.971177944862156
    p = p * s - 7.092156862745098
    p = p * s + 1.1666666666666667
    p = p * s - 0.2531135531135531
    p = p * s + 0.07575757575757576
    p = p * s - 0.03333333333333333
    p = p * s + 0.023809523809523808
    p = p * s - 0.03333333333333333
    p = p * s + 0.16666666666666666
    rest = (1.0 + (0.5 + p / y) / y) / y
    return shifted + rest if short else rest


@inline
def trigamma(x: f64) -> f64:
    """The derivative of digamma; 6 ulp for x > 0. Infinite at 0 and the negative integers."""
    left = x < 0.5
    y = _trigamma_positive(1.0 - x if left else x)
    # By reflection (6.4.7).
    t = fabs(x - rint(x))
    ratio = _PI / _sine_of_pi(t)
    r = ratio * ratio - y if left else y
    r = math.inf if (left and t == 0.0) else r
    return r if x == x else x


@inline
def _lgamma_at_2(z: f64) -> f64:
    """log gamma(2 + z) for |z| <= 1/2: a power series (6.1.33)."""
    p = f64(-2.7595228851242334e-10) * z + 5.731367241678862e-10
    p = p * z - 1.1921401405860912e-09
    p = p * z + 2.4836745438024785e-09
    p = p * z - 5.183475041970047e-09
    p = p * z + 1.0838659214896955e-08
    p = p * z - 2.2711094608943164e-08
    p = p * z + 4.7698101693639804e-08
    p = p * z - 1.0043224823968099e-07
    p = p * z + 2.1207184805554665e-07
    p = p * z - 4.492469198764566e-07
    p = p * z + 9.55141213040742e-07
    p = p * z - 2.039215753801366e-06
    p = p * z + 4.374866789907488e-06
    p = p * z - 9.439488275268397e-06
    p = p * z + 2.050721277567069e-05
    p = p * z - 4.492623673813314e-05
    p = p * z + 9.945751278180853e-05
    p = p * z - 0.00022315475845357939
    p = p * z + 0.0005096695247430425
    p = p * z - 0.001192753911703261
    p = p * z + 0.0028905103307415234
    p = p * z - 0.007385551028673986
    p = p * z + 0.020580808427784546
    p = p * z - 0.0673523010531981
    p = p * z + 0.3224670334241132
    p = p * z + 0.42278433509846713
    return p * z


@inline
def _lgamma_positive(m: f64) -> f64:
    """log |gamma| for m >= 0."""
    short = m < 8.0
    n = rint(m) if short else f64(2.0)
    z = m - n if short else f64(0.0)
    # From 2 + z up to m, or down to it.
    product = 2.0 + z if n > 2.0 else f64(1.0)
    product = product * (3.0 + z) if n > 3.0 else product
    product = product * (4.0 + z) if n > 4.0 else product
    product = product * (5.0 + z) if n > 5.0 else product
    product = product * (6.0 + z) if n > 6.0 else product
    product = product * (7.0 + z) if n > 7.0 else product
    product = m if n == 1.0 else product
    product = m * (m + 1.0) if n == 0.0 else product
    logarithm = log(product if short else m)
    near = _lgamma_at_2(z) + (-logarithm if n < 2.0 else logarithm)
    # Stirling's series (6.1.40).
    y = f64(8.0) if short else m
    s = 1.0 / (y * y)
    p = f64(-0.029550653594771242) * s + 0.00641025641025641
    p = p * s - 0.0019175269175269176
    p = p * s + 0.0008417508417508417
    p = p * s - 0.0005952380952380953
    p = p * s + 0.0007936507936507937
    p = p * s - 0.002777777777777778
    p = p * s + 0.08333333333333333
    far = (y - 0.5) * (logarithm - 1.0) + (0.4189385332046727 + p / y)
    return near if short else far


@inline
def lgamma(x: f64) -> f64:
    """The logarithm of the absolute value of the gamma function; 9 ulp for x > 0."""
    m = fabs(x)
    upper = _lgamma_positive(m)
    left = x < 0.0
    # By reflection (6.1.17), whose product of two small numbers is 0 beside 0.
    t = fabs(m - rint(m))
    mirrored = log(_PI / (m * _sine_of_pi(t))) - upper if m > 1e-8 else upper
    r = mirrored if left else upper
    r = math.inf if (m == math.inf or (left and t == 0.0)) else r
    return r if x == x else x
