"""Elementary functions for kernels, computed in double precision and rounded once.

Of those for which single precision has no cheap way to one unit of the last place (ulp). Each
says its largest error over all floats; NaN, infinities, signed zeros and subnormal numbers come
out as in C. The polynomials are our own fits, of relative errors below 1e-9.
"""

from __future__ import annotations

import math

from wengert.kernels.jit.builtins import (
    bits,
    copysign,
    f32,
    f64,
    fabs,
    from_bits,
    from_bits64,
    i32,
    i64,
    inline,
    maximum,
    minimum,
    rint,
    sqrt,
)

# Beyond it the reduction of an angle by multiples of pi / 2 loses digits.
WIDEST_ANGLE = 1e6


@inline
def power_of_two(n: f64) -> f64:
    """2**n for an integer, |n| < 1023."""
    return from_bits64((i64(i32(n)) + 1023) << 52)


@inline
def exp2_64(x: f64) -> f64:
    """2**x for |x| < 1000."""
    n = rint(x)
    r = x - n
    p = 0.00015337576867475717 * r + 0.0013399860366138268
    p = p * r + 0.009618519534226204
    p = p * r + 0.05550328997508699
    p = p * r + 0.2402264660871514
    p = p * r + 0.6931472056005168
    return (p * r + 1.0000000005920209) * power_of_two(n)


@inline
def expm1_64(x: f64) -> f64:
    """exp(x) - 1 for |x| < 700."""
    n = rint(x * 1.4426950408889634)
    r = x - n * 0.6931471805599453
    p = 0.0001983297667615324 * r + 0.0013940981350311912
    p = p * r + 0.008333417764456306
    p = p * r + 0.04166635481809377
    p = p * r + 0.16666666182980513
    p = p * r + 0.5000000046541833
    p = p * r + 1.0000000000356017
    scale = power_of_two(n)
    return p * r * scale + (scale - 1.0)


@inline
def log_ratio_64(s: f64) -> f64:
    """log((1 + s) / (1 - s)) for |s| < 0.172."""
    z = s * s
    p = 0.2362194848258383 * z + 0.28534761376650897
    p = p * z + 0.40000389273792714
    p = p * z + 0.6666666522468968
    return (p * z + 2.000000000008531) * s


@inline
def log_64(x: f32) -> f64:
    """The natural logarithm of an f32 that is not negative; -inf of 0."""
    scaled = x * 8388608.0 if x < 1.17549435e-38 else x
    e = (bits(scaled) - 1060439283) >> 23
    m = f64(from_bits(bits(scaled) - (e << 23)))
    n = f64(e) - f64(23.0 if x < 1.17549435e-38 else 0.0)
    y = log_ratio_64((m - 1.0) / (m + 1.0)) + n * 0.6931471805599453
    y = -math.inf if x == 0.0 else y
    y = math.inf if x == math.inf else y
    return math.nan if (x < 0.0 or x != x) else y


@inline
def log1p_64(x: f64) -> f64:
    """log(1 + x) for x between -1 and the largest f32, as accurate near 0."""
    # The power of two of 1 + x, of which single precision says enough.
    e = (bits(f32(1.0 + x)) - 1060439283) >> 23
    scale = from_bits64((1023 - i64(e)) << 52)
    top = x * scale + (scale - 1.0)
    return log_ratio_64(top / (top + 2.0)) + f64(e) * 0.6931471805599453


@inline
def exp2(x: f32) -> f32:
    """2 to the power of x; 0.6 ulp."""
    c = -160.0 if x < -160.0 else x
    c = 160.0 if c > 160.0 else c
    y = f32(exp2_64(f64(c)))
    return y if x == x else x


@inline
def expm1(x: f32) -> f32:
    """exp(x) - 1, accurate near zero; 0.6 ulp."""
    c = -30.0 if x < -30.0 else x
    c = 100.0 if c > 100.0 else c
    y = f32(expm1_64(f64(c)))
    y = x if fabs(x) < 1e-10 else y
    return y if x == x else x


@inline
def log2(x: f32) -> f32:
    """The logarithm to the base 2; 0.6 ulp."""
    return f32(log_64(x) * 1.4426950408889634)


@inline
def log10(x: f32) -> f32:
    """The logarithm to the base 10; 0.6 ulp."""
    return f32(log_64(x) * 0.4342944819032518)


@inline
def pow(x: f32, y: f32) -> f32:
    """x to the power of y; 0.6 ulp."""
    size = fabs(x)
    t = f64(y) * log_64(size) * 1.4426950408889634
    t = -200.0 if t < -200.0 else t
    t = 200.0 if t > 200.0 else t
    r = f32(exp2_64(t))
    r = r if t == t else math.nan
    whole = rint(y) == y
    half = y * 0.5
    odd = whole and rint(half) != half
    r = -r if (odd and bits(x) < 0) else r
    # Of negative numbers only integers are powers; the infinities count as even ones.
    r = math.nan if (x < 0.0 and not whole and size != math.inf) else r
    r = 1.0 if (size == 1.0 and fabs(y) == math.inf) else r
    return 1.0 if (y == 0.0 or x == 1.0) else r


@inline
def sinh(x: f32) -> f32:
    """The hyperbolic sine; 0.6 ulp."""
    c = fabs(x)
    c = 100.0 if c > 100.0 else c
    e = expm1_64(f64(c))
    y = copysign(f32(0.5 * (e + e / (e + 1.0))), x)
    y = x if fabs(x) < 1e-5 else y
    return y if x == x else x


@inline
def cosh(x: f32) -> f32:
    """The hyperbolic cosine; 0.6 ulp."""
    c = fabs(x)
    c = 100.0 if c > 100.0 else c
    e = expm1_64(f64(c)) + 1.0
    y = f32(0.5 * (e + 1.0 / e))
    return y if x == x else x


@inline
def sine_64(r: f64) -> f64:
    """The sine for |r| < 0.79."""
    z = r * r
    p = 2.71676342215457e-06 * z - 0.00019839135732082843
    p = p * z + 0.008333328546890957
    p = p * z - 0.16666666628940777
    return (p * z + 0.9999999999952108) * r


@inline
def cosine_64(r: f64) -> f64:
    """The cosine for |r| < 0.79."""
    z = r * r
    p = 2.4368290819515175e-05 * z - 0.0013886480293141168
    p = p * z + 0.0416666115541205
    p = p * z - 0.49999999553355384
    return p * z + 0.999999999940908


@inline
def quarters_off(x: f32, turns: f64) -> f64:
    """x less that many times pi / 2, whose first part has 33 bits: its multiples are exact."""
    return (f64(x) - turns * 1.5707963267341256) - turns * 6.077100506506192e-11


@inline
def sin(x: f32) -> f32:
    """The sine for |x| <= 1e6; 0.6 ulp."""
    n = rint(f64(x) * 0.6366197723675814)
    r = quarters_off(x, n)
    k = i32(n)
    s = cosine_64(r) if (k & 1) != 0 else sine_64(r)
    y = f32(-s if (k & 2) != 0 else s)
    return x if (fabs(x) < 1e-5 or x != x) else y


@inline
def cos(x: f32) -> f32:
    """The cosine for |x| <= 1e6; 0.6 ulp."""
    n = rint(f64(x) * 0.6366197723675814)
    r = quarters_off(x, n)
    k = i32(n) + 1
    s = cosine_64(r) if (k & 1) != 0 else sine_64(r)
    y = f32(-s if (k & 2) != 0 else s)
    return y if x == x else x


@inline
def tan(x: f32) -> f32:
    """The tangent for |x| <= 1e6; 0.6 ulp."""
    n = rint(f64(x) * 0.6366197723675814)
    r = quarters_off(x, n)
    s = sine_64(r)
    c = cosine_64(r)
    odd = (i32(n) & 1) != 0
    y = f32((-c if odd else s) / (s if odd else c))
    return x if (fabs(x) < 1e-5 or x != x) else y


@inline
def arcsine_64(x: f64) -> f64:
    """The arc sine for |x| <= 1/2."""
    z = x * x
    p = 0.03482593681246923 * z + 0.007333540026788189
    p = p * z + 0.024673910568212436
    p = p * z + 0.03009860755245673
    p = p * z + 0.04466147739728372
    p = p * z + 0.07499940516026667
    p = p * z + 0.16666667385632575
    return (p * z + 0.999999999985816) * x


@inline
def asin(x: f32) -> f32:
    """The inverse of the sine; 0.6 ulp."""
    m = f64(fabs(x))
    near = m <= 0.5
    a = arcsine_64(m if near else sqrt(0.5 - 0.5 * m))
    y = copysign(f32(a if near else 1.5707963267948966 - 2.0 * a), x)
    y = x if fabs(x) < 1e-5 else y
    return y if fabs(x) <= 1.0 else math.nan


@inline
def acos(x: f32) -> f32:
    """The inverse of the cosine; 0.6 ulp."""
    m = f64(fabs(x))
    near = m <= 0.5
    a = arcsine_64(m if near else sqrt(0.5 - 0.5 * m))
    # The angle of |x|, and then that of x.
    a = 1.5707963267948966 - a if near else 2.0 * a
    y = f32(3.141592653589793 - a if x < 0.0 else a)
    return y if fabs(x) <= 1.0 else math.nan


@inline
def _angle_below_eighth(t: f64) -> f64:
    """The inverse of the tangent for |t| < 0.4143, an eighth of half a turn; relatively 3e-11."""
    z = t * t
    p = 0.0470834316505949 * z - 0.08456722492164735
    p = p * z + 0.11040594952761307
    p = p * z - 0.14281598506831295
    p = p * z + 0.19999884262254986
    p = p * z - 0.3333333210381469
    return (p * z + 0.9999999999785547) * t


@inline
def atan(x: f32) -> f32:
    """The inverse of the tangent; 0.6 ulp."""
    m = f64(fabs(x))
    far = m > 2.414213562373095
    middle = m > 0.41421356237309503
    top = -1.0 if far else (m - 1.0 if middle else m)
    bottom = m if far else (m + 1.0 if middle else 1.0)
    t = top / bottom
    a = _angle_below_eighth(t)
    quarters = f64(2.0 if far else (1.0 if middle else 0.0))
    a = a + quarters * 0.7853981633974483
    y = copysign(f32(a), x)
    y = x if fabs(x) < 1e-5 else y
    return y if x == x else x


@inline
def atan2(y: f32, x: f32) -> f32:
    """The angle of the point (x, y); 0.6 ulp."""
    a = f64(fabs(y))
    b = f64(fabs(x))
    # Of two infinities the ratio is 1, of two zeros 0.
    equal = a == b
    low = 1.0 if equal and a > 0.0 else minimum(a, b)
    high = 1.0 if equal else maximum(a, b)
    middle = low > 0.41421356237309503 * high
    t = (low - high if middle else low) / (low + high if middle else high)
    eighths = f64(1.0 if middle else 0.0)
    angle = _angle_below_eighth(t) + eighths * 0.7853981633974483
    angle = 1.5707963267948966 - angle if a > b else angle
    angle = 3.141592653589793 - angle if copysign(1.0, x) < 0.0 else angle
    r = copysign(f32(angle), y)
    return r if (x == x and y == y) else x + y


@inline
def asinh(x: f32) -> f32:
    """The inverse of the hyperbolic sine; 0.6 ulp."""
    c = fabs(x)
    m = f64(c if c < math.inf else 1.0)
    # Where 1 is nothing beside the square: log(2 m).
    big = c > 1e18
    rest = m * m / (1.0 + sqrt(m * m + 1.0))
    a = log1p_64(m if big else m + rest)
    y = copysign(f32(a + f64(1.0 if big else 0.0) * 0.6931471805599453), x)
    return x if (c < 1e-5 or c == math.inf or x != x) else y


@inline
def acosh(x: f32) -> f32:
    """The inverse of the hyperbolic cosine; 0.6 ulp."""
    m = f64(x if (x >= 1.0 and x < math.inf) else 1.0) - 1.0
    big = x > 1e18
    rest = sqrt(m * (m + 2.0))
    a = log1p_64(m if big else m + rest)
    y = f32(a + f64(1.0 if big else 0.0) * 0.6931471805599453)
    y = x if x == math.inf else y
    return y if x >= 1.0 else math.nan


@inline
def atanh(x: f32) -> f32:
    """The inverse of the hyperbolic tangent; 0.6 ulp."""
    c = fabs(x)
    m = f64(c if c < 1.0 else 0.0)
    y = f32(0.5 * log1p_64(2.0 * m / (1.0 - m)))
    y = math.inf if c == 1.0 else y
    y = x if c < 1e-5 else copysign(y, x)
    return y if c <= 1.0 else math.nan


@inline
def hypot(x: f32, y: f32) -> f32:
    """sqrt(x**2 + y**2), infinite where either is; 0.6 ulp."""
    a = f64(x)
    b = f64(y)
    size = f32(sqrt(a * a + b * b))
    return math.inf if (fabs(x) == math.inf or fabs(y) == math.inf) else size


@inline
def erfc(x: f32) -> f32:
    """1 - erf(x), accurate for large x; 0.6 ulp."""
    c = fabs(x)
    m = f64(10.3 if c > 10.3 else c)
    t = 1.0 / (1.0 + 0.5 * m)
    p = -0.02990556793726019 * t + 0.22409019420150914
    p = p * t - 0.7157950714483372
    p = p * t + 1.2337082184169748
    p = p * t - 1.1840632948498513
    p = p * t + 0.6134947388015515
    p = p * t - 0.2756929466080511
    p = p * t + 0.1595951588725335
    p = p * t + 0.1618940997334652
    p = p * t + 0.2486083500979442
    p = p * t + 0.281967286015384
    p = p * t + 0.2820988347942259
    upper = p * t * exp2_64(m * m * -1.4426950408889634)
    y = f32(2.0 - upper if x < 0.0 else upper)
    return y if x == x else x
