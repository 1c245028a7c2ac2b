"""Elementary functions of doubles for kernels, without branches: LLVM turns them into vectors.

Each says its largest error in units of the last place (ulp). They are for the ranges that they
say; NaN comes out as NaN.
"""

from __future__ import annotations

import math
from fractions import Fraction

from wengert.kernels.jit.builtins import (
    bits64,
    copysign,
    f64,
    fabs,
    from_bits64,
    i32,
    i64,
    inline,
    rint,
    sqrt,
    trunc,
)
from wengert.kernels.jit.native import Native


def _multiply_add(a: f64, b: f64, c: f64) -> f64:
    """a * b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


_multiply_add.__name__ = "multiply_add"
multiply_add = Native(
    _multiply_add,
    "define internal double @multiply_add(double %a, double %b, double %c) alwaysinline nounwind {"
    "\n  %r = call double @llvm.fma.f64(double %a, double %b, double %c)\n  ret double %r\n}",
    "double @llvm.fma.f64(double, double, double)",
    real="any",
)


@inline
def two_to(n: f64) -> f64:
    """2**n for an integer, |n| < 1023; 0 for -1023."""
    return from_bits64((i64(i32(n)) + 1023) << 52)


@inline
def series(r: f64) -> f64:
    """(exp(r) - 1 - r) / r**2 for |r| < 0.35: Taylor's, whose rest is below 1e-17."""
    p = f64(1.1470745597729725e-11) * r + 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    return p * r + 0.5


@inline
def turned(x: f64, n: f64) -> f64:
    """x less n times log 2, whose first part has 32 bits: its multiples are exact."""
    return (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10


@inline
def exp_double(x: f64) -> f64:
    """e to the power of x; 1 ulp. Below -708 as at -708: 3e-308; above 709 as at 709."""
    c = f64(-708.0) if x < -708.0 else x
    c = f64(709.0) if c > 709.0 else c
    n = rint(c * 1.4426950408889634)
    r = turned(c, n)
    y = (1.0 + (r + r * r * series(r))) * two_to(n)
    return y if x == x else x


@inline
def exp_bounded_double(x: f64) -> f64:
    """e to the power of x <= 0, with 0 below -708.7; 1 ulp. For softmax and its kin."""
    c = f64(-709.0) if x < -709.0 else x
    n = rint(c * 1.4426950408889634)
    r = turned(c, n)
    # Of -709 the power of two is 0, by the bits of an exponent of -1023.
    y = (1.0 + (r + r * r * series(r))) * two_to(n)
    return y if x == x else x


@inline
def expm1_double(x: f64) -> f64:
    """exp(x) - 1, accurate near zero; 2 ulp. Bounds as of `exp_double`."""
    c = f64(-708.0) if x < -708.0 else x
    c = f64(709.0) if c > 709.0 else c
    n = rint(c * 1.4426950408889634)
    r = turned(c, n)
    scale = two_to(n)
    y = (r + r * r * series(r)) * scale + (scale - 1.0)
    return y if x == x else x


@inline
def log_ratio(s: f64) -> f64:
    """log((1 + s) / (1 - s)) for |s| < 0.172: Taylor's, whose rest is below 1e-16."""
    z = s * s
    p = f64(0.10526315789473684) * z + 0.11764705882352941
    p = p * z + 0.13333333333333333
    p = p * z + 0.15384615384615385
    p = p * z + 0.18181818181818182
    p = p * z + 0.2222222222222222
    p = p * z + 0.2857142857142857
    p = p * z + 0.4
    p = p * z + 0.6666666666666666
    return (p * z + 2.0) * s


@inline
def log_double(x: f64) -> f64:
    """The natural logarithm of a normal number; 2 ulp."""
    # Mantissas between the root of a half and that of two.
    e = (bits64(x) - 4604544271217802189) >> 52
    m = from_bits64(bits64(x) - (e << 52))
    n = f64(i32(e))
    s = (m - 1.0) / (m + 1.0)
    return (log_ratio(s) + n * 1.9082149292705877e-10) + n * 0.6931471803691238


@inline
def log1p_double(x: f64) -> f64:
    """log(1 + x) for x > -1 up to 1e300, accurate near zero; 3 ulp."""
    e = (bits64(1.0 + x) - 4604544271217802189) >> 52
    scale = from_bits64((1023 - e) << 52)
    # (1 + x) * scale - 1, which is x itself near 0.
    top = x * scale + (scale - 1.0)
    n = f64(i32(e))
    return (log_ratio(top / (top + 2.0)) + n * 1.9082149292705877e-10) + n * 0.6931471803691238


@inline
def digamma_double(x: f64) -> f64:
    """The derivative of log gamma for x > 0; NaN otherwise. By recurrence, and a series from 8 on.

    (Abramowitz and Stegun, 6.3.5 and 6.3.18.)
    """
    # The sum of 1 / (x + k) for k < 8 as one fraction. For k and 7 - k, with c = k (7 - k), it is
    # (2 x + 7) / (u + c).
    short = x < 8.0
    u = x * (x + 7.0)
    low = u * (u + 6.0)
    high = (u + 10.0) * (u + 12.0)
    top = (2.0 * x + 7.0) * ((u + 3.0) * high + (u + 11.0) * low)
    shifted = 2.0 * top / (low * high) if short else f64(0.0)
    y = x + 8.0 if short else x
    s = 1.0 / (y * y)
    p = f64(-0.4432598039215686) * s + 0.08333333333333333
    p = p * s - 0.021092796092796094
    p = p * s + 0.007575757575757576
    p = p * s - 0.004166666666666667
    p = p * s + 0.003968253968253968
    p = p * s - 0.008333333333333333
    p = p * s + 0.08333333333333333
    value = log_double(y) - 0.5 / y - s * p - shifted
    return value if x > 0.0 else math.nan


@inline
def exp(x: f64) -> f64:
    """e to the power of x, of any x; 1 ulp where that is normal."""
    c = f64(-750.0) if x < -750.0 else x
    c = f64(720.0) if c > 720.0 else c
    n = rint(c * 1.4426950408889634)
    half = rint(n * 0.5)  # two factors: one would be out of range before the result is
    r = turned(c, n)
    y = (1.0 + (r + r * r * series(r))) * two_to(half) * two_to(n - half)
    return y if x == x else x


@inline
def log(x: f64) -> f64:
    """The natural logarithm; 2 ulp."""
    small = x < 2.2250738585072014e-308
    y = log_double(x * 18014398509481984.0 if small else x)
    y = y - 37.42994775023705 if small else y
    y = -math.inf if x == 0.0 else y
    y = math.nan if x < 0.0 else y
    return y if (x < math.inf and x == x) else x + (math.nan if x < 0.0 else 0.0)


@inline
def tanh(x: f64) -> f64:
    """The hyperbolic tangent; 3 ulp."""
    a = -x if x < 0.0 else x
    t = expm1_double(2.0 * (f64(22.0) if a > 22.0 else a))
    y = t / (t + 2.0)
    y = -y if x < 0.0 else y
    return y if x == x and x != 0.0 else x


@inline
def sigmoid(x: f64) -> f64:
    """1 / (1 + exp(-x)); 3 ulp."""
    return 1.0 / (1.0 + exp(-x))


@inline
def erf(x: f64) -> f64:
    """The error function; 3 ulp. Rational functions of Cephes: of x, and of 1 - erf(|x|)."""
    s = x * x
    p = f64(9.60497373987051638749) * s + 90.0260197203842689217
    p = p * s + 2232.00534594684319226
    p = p * s + 7003.32514112805075473
    p = p * s + 55592.3013010394962768
    q = s + 33.5617141647503099647
    q = q * s + 521.357949780152679795
    q = q * s + 4594.32382970980127987
    q = q * s + 22629.0000613890934246
    q = q * s + 49267.3942608635921086
    near = x * p / q
    a = fabs(x)
    m = f64(6.0) if a > 6.0 else a
    p = f64(2.46196981473530512524e-10) * m + 0.564189564831068821977
    p = p * m + 7.46321056442269912687
    p = p * m + 48.6371970985681366614
    p = p * m + 196.520832956077098242
    p = p * m + 526.445194995477358631
    p = p * m + 934.528527171957607540
    p = p * m + 1027.55188689515710272
    p = p * m + 557.535335369399327526
    q = m + 13.2281951154744992508
    q = q * m + 86.7072140885989742329
    q = q * m + 354.937778887819891062
    q = q * m + 975.708501743205489753
    q = q * m + 1823.90916687909736289
    q = q * m + 2246.33760818710981792
    q = q * m + 1656.66309194161350182
    q = q * m + 557.535340817727675546
    far = copysign(1.0 - exp_double(-m * m) * p / q, x)
    return near if a < 1.0 else far


@inline
def sine(r: f64) -> f64:
    """The sine for |r| < 0.79: the polynomial of fdlibm."""
    z = r * r
    p = f64(1.58969099521155010221e-10) * z - 2.50507602534068634195e-08
    p = p * z + 2.75573137070700676789e-06
    p = p * z - 1.98412698298579493134e-04
    p = p * z + 8.33333333332248946124e-03
    p = p * z - 1.66666666666666324348e-01
    return r + r * z * p


@inline
def cosine(r: f64) -> f64:
    """The cosine for |r| < 0.79: the polynomial of fdlibm."""
    z = r * r
    p = f64(-1.13596475577881948265e-11) * z + 2.08757232129817482790e-09
    p = p * z - 2.75573143513906633035e-07
    p = p * z + 2.48015872894767294178e-05
    p = p * z - 1.38888888888741095749e-03
    p = p * z + 4.16666666666666019037e-02
    half = 0.5 * z
    near = 1.0 - half
    return near + ((1.0 - near - half) + z * z * p)


@inline
def less_quarters(x: f64, n: f64) -> f64:
    """x less n times pi / 2, in three parts; the first difference is exact."""
    r = multiply_add(-n, 6.123233995736766e-17, multiply_add(-n, 1.5707963267948966, x))
    return multiply_add(-n, -1.4973849048591833e-33, r)


@inline
def sin(x: f64) -> f64:
    """The sine for |x| <= 1e6; 2 ulp."""
    n = rint(x * 0.6366197723675814)
    r = less_quarters(x, n)
    k = i32(n)
    s = cosine(r) if (k & 1) != 0 else sine(r)
    s = -s if (k & 2) != 0 else s
    return s if (x == x and x != 0.0) else x


@inline
def cos(x: f64) -> f64:
    """The cosine for |x| <= 1e6; 2 ulp."""
    n = rint(x * 0.6366197723675814)
    r = less_quarters(x, n)
    k = i32(n) + 1
    s = cosine(r) if (k & 1) != 0 else sine(r)
    s = -s if (k & 2) != 0 else s
    return s if x == x else x


@inline
def fmod(x: f64, y: f64) -> f64:
    """What truncated division leaves, for |x| <= 1e8 |y|; exact."""
    r = multiply_add(-trunc(x / y), y, x)
    # The quotient may have been rounded up to a whole number.
    r = r + copysign(y, x) if r * copysign(1.0, x) < 0.0 else r
    r = x if (fabs(y) == math.inf and fabs(x) < math.inf) else r
    return copysign(r, x) if r == r else r


@inline
def hypot(x: f64, y: f64) -> f64:
    """sqrt(x**2 + y**2), infinite where either is; 2 ulp."""
    a = fabs(x)
    b = fabs(y)
    top = b if b > a else a
    # By a power of two, so that squares are in range.
    scale = f64(4.149515568880993e180) if top < 1e-150 else f64(1.0)
    scale = f64(2.409919865102884e-181) if top > 1e150 else scale
    a = a * scale
    b = b * scale
    size = sqrt(multiply_add(a, a, b * b)) / scale
    return math.inf if (a == math.inf or b == math.inf) else size


@inline
def logaddexp(x: f64, y: f64) -> f64:
    """log(exp(x) + exp(y)); 3 ulp of the larger."""
    top = x if x > y else y
    r = top + log1p_double(exp(-fabs(x - y)))
    # Of two infinities the difference is no number.
    r = x if x == y and fabs(x) == math.inf else r
    return r if (x == x and y == y) else x + y


@inline
def quantile_near(m: f64) -> f64:
    """The normal quantile of (1 + m) / 2 for 0 <= m <= 0.85 (Wichura's AS 241)."""
    s = 0.180625 - 0.25 * m * m
    p = f64(2509.0809287301226727) * s + 33430.575583588128105
    p = p * s + 67265.770927008700853
    p = p * s + 45921.953931549871457
    p = p * s + 13731.693765509461125
    p = p * s + 1971.5909503065514427
    p = p * s + 133.14166789178437745
    p = p * s + 3.387132872796366608
    q = f64(5226.495278852545925) * s + 28729.085735721942674
    q = q * s + 39307.89580009271061
    q = q * s + 21213.794301586595867
    q = q * s + 5394.1960214247511077
    q = q * s + 687.1870074920579083
    q = q * s + 42.313330701600911252
    return 0.5 * m * p / (q * s + 1.0)


@inline
def quantile_far(t: f64) -> f64:
    """The normal quantile where sqrt(-log(tail)) is 1.6 + t, up to 5 (Wichura's AS 241)."""
    p = f64(7.7454501427834140764e-4) * t + 0.0227238449892691845833
    p = p * t + 0.24178072517745061177
    p = p * t + 1.27045825245236838258
    p = p * t + 3.64784832476320460504
    p = p * t + 5.7694972214606914055
    p = p * t + 4.6303378461565452959
    p = p * t + 1.42343711074968357734
    q = f64(1.05075007164441684324e-9) * t + 5.475938084995344946e-4
    q = q * t + 0.0151986665636164571966
    q = q * t + 0.14810397642748007459
    q = q * t + 0.68976733498510000455
    q = q * t + 1.6763848301838038494
    q = q * t + 2.05319162663775882187
    return p / (q * t + 1.0)
