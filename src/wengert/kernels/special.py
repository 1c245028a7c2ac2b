"""Special functions over float arrays, vectorised: erf, its relatives, and the gamma family.

Computed in float64, except `erf` of float32, which has an approximation of its own.

References:
    W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969).
    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), chapters 6 and 23.
    S. Winitzki, A handy approximation for the error function and its inverse (2008).
"""

from __future__ import annotations

import math

import numpy as np

from wengert.kernels.precision import in_float64

Array = np.ndarray

# Cody's coefficients, lowest power first. erf(x) / x in x**2 on |x| <= 15/32,
_ERF_P = (3.20937758913846947e03, 3.77485237685302021e02, 1.13864154151050156e02,
          3.16112374387056560e00, 1.85777706184603153e-01)  # fmt: skip
_ERF_Q = (2.84423683343917062e03, 1.28261652607737228e03, 2.44024637934444173e02,
          2.36012909523441209e01, 1.0)  # fmt: skip
# exp(x**2) erfc(x) in x up to 4,
_ERFC_P = (1.23033935479799725e03, 2.05107837782607147e03, 1.71204761263407058e03,
           8.81952221241769090e02, 2.98635138197400131e02, 6.61191906371416295e01,
           8.88314979438837594e00, 5.64188496988670089e-01, 2.15311535474403846e-08)  # fmt: skip
_ERFC_Q = (1.23033935480374942e03, 3.43936767414372164e03, 4.36261909014324716e03,
           3.29079923573345963e03, 1.62138957456669019e03, 5.37181101862009858e02,
           1.17693950891312499e02, 1.57449261107098347e01, 1.0)  # fmt: skip
# and the remainder of its asymptotic series, in 1 / x**2, beyond 4.
_TAIL_P = (6.58749161529837803e-04, 1.60837851487422766e-02, 1.25781726111229246e-01,
           3.60344899949804439e-01, 3.05326634961232344e-01, 1.63153871373020978e-02)  # fmt: skip
_TAIL_Q = (2.33520497626869185e-03, 6.05183413124413191e-02, 5.27905102951428412e-01,
           1.87295284992346725e00, 2.56852019228982242e00, 1.0)  # fmt: skip

# Our own fit of erf(x) / x in x**2 for |x| <= 4: relative error below 3.6e-7 in float32.
_ERF32_P = (1.1283791065216064, 0.1935461014509201, 0.05310188978910446,
            0.0038833904545754194, 0.0002845672715920955, 1.986778443097137e-06)  # fmt: skip
_ERF32_Q = (1.0, 0.5048583149909973, 0.11535043269395828, 0.015207342803478241,
            0.0011855830671265721, 3.7420206353999674e-05)  # fmt: skip

# Bernoulli numbers B2, B4, ...
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Horner's rule; the coefficients come lowest power first."""
    result: Array = x * coefficients[-1]
    result += coefficients[-2]
    for c in coefficients[-3::-1]:
        result *= x
        result += c
    return result


def _scaled_erfc(x: Array) -> Array:
    """exp(x**2) erfc(x) for x > 15/32."""
    out = _polynomial(_ERFC_P, np.minimum(x, 4.0))
    out /= _polynomial(_ERFC_Q, np.minimum(x, 4.0))
    far = x > 4.0
    if far.any():
        y = x[far]
        s = 1.0 / (y * y)
        tail = s * _polynomial(_TAIL_P, s) / _polynomial(_TAIL_Q, s)
        out[far] = (1.0 / math.sqrt(math.pi) - tail) / y
    return out


def _erfc_upper(x: Array) -> Array:
    """erfc(x) for x > 15/32."""
    # x * x loses the bits that exp would need: split x into sixteenths and a rest.
    coarse = np.floor(np.minimum(x, 40.0) * 16.0) / 16.0
    rest = (x - coarse) * (x + coarse)
    out: Array = _scaled_erfc(x) * np.exp(-coarse * coarse) * np.exp(-rest)
    out[x > 30.0] = 0.0  # below the smallest number, and inf - inf above
    return out


def _erf_lower(x: Array) -> Array:
    """erf(x) for |x| <= 15/32."""
    s = x * x
    result: Array = x * _polynomial(_ERF_P, s) / _polynomial(_ERF_Q, s)
    return result


def erf64(x: Array) -> Array:
    """The error function in float64."""
    flat = np.abs(x).ravel()
    low = flat <= 0.46875
    out = flat.copy()  # NaN stays
    out[low] = _erf_lower(flat[low])
    high = flat > 0.46875
    out[high] = 1.0 - _erfc_upper(flat[high])
    return np.copysign(out.reshape(x.shape), x)


def erf32(x: Array) -> Array:
    """The error function in float32."""
    y = np.asarray(np.minimum(np.maximum(x, np.float32(-4.0)), np.float32(4.0)))
    s = y * y
    y *= _polynomial(_ERF32_P, s)
    y /= _polynomial(_ERF32_Q, s)
    np.maximum(y, np.float32(-1.0), out=y)
    return np.minimum(y, np.float32(1.0), out=y)


def erf(x: Array) -> Array:
    """The error function, in the dtype of `x`."""
    if x.dtype == np.float64:
        return erf64(x)
    return erf32(x.astype(np.float32, copy=False)).astype(x.dtype, copy=False)


def erfc64(x: Array) -> Array:
    """1 - erf(x) in float64, without cancellation."""
    flat = np.abs(x).ravel()
    low = flat <= 0.46875
    out = flat.copy()
    out[low] = 1.0 - np.copysign(_erf_lower(flat[low]), x.ravel()[low])
    high = flat > 0.46875
    upper = _erfc_upper(flat[high])
    out[high] = np.where(x.ravel()[high] < 0, 2.0 - upper, upper)
    return out.reshape(x.shape)


def erfinv64(y: Array) -> Array:
    """The inverse of erf in float64: Winitzki's guess, then Halley's iteration.

    The distance to 1 is exact beyond 1/2, so that erfc keeps full accuracy in the tails.
    """
    flat = np.abs(y).ravel()
    gap = 1.0 - flat
    a = 0.147
    log = np.log(gap * (1.0 + flat))
    b = 2.0 / (math.pi * a) + 0.5 * log
    x = np.sqrt(np.maximum(np.sqrt(b * b - log / a) - b, 0.0))
    central = flat < 0.5
    for _ in range(3):
        error = np.where(central, erf64(x) - flat, gap - erfc64(x))
        step = error * (0.5 * math.sqrt(math.pi)) * np.exp(x * x)
        x = x - step / (1.0 + x * step)
    x[flat == 1.0] = np.inf
    return np.copysign(x.reshape(y.shape), y)


def _zeta_minus_one(s: int) -> float:
    """Riemann's zeta(s) - 1 for an integer s > 1, by the Euler-Maclaurin formula (23.2)."""
    n = 12
    total = sum(float(k) ** -s for k in range(n - 1, 1, -1))
    total += float(n) ** (1 - s) / (s - 1) + 0.5 * float(n) ** -s
    rising, power = float(s), float(n) ** (-s - 1)
    for j, b in enumerate(_BERNOULLI, 1):
        total += b / math.factorial(2 * j) * rising * power
        rising *= (s + 2 * j - 1) * (s + 2 * j)
        power /= n * n
    return total


# log gamma(2 + z) = z (1 - Euler's constant) + sum of (-1)**k (zeta(k) - 1) z**k / k  (6.1.33)
_LGAMMA_AT_2 = (
    0.0,
    1.0 - 0.57721566490153286061,
    *((-1.0) ** k * _zeta_minus_one(k) / k for k in range(2, 28)),
)


def _stirling(x: Array) -> Array:
    """log gamma(x) for x >= 8 (6.1.40)."""
    coefficients = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1))
    log = np.log(x)
    result: Array = (x - 0.5) * log - x + _HALF_LOG_2PI
    return result + _polynomial(coefficients, 1.0 / (x * x)) / x


def _lgamma_positive(x: Array) -> Array:
    """log gamma(x) for x >= 1/2."""
    result = _stirling(np.maximum(x, 8.0))
    middle = (x > 2.5) & (x < 8.0)
    y, product = x[middle], np.ones(np.count_nonzero(middle))
    while (short := y < 8.0).any():
        product[short] *= y[short]
        y = np.where(short, y + 1.0, y)
    result[middle] = _stirling(y) - np.log(product)
    near_2 = (x > 1.5) & (x <= 2.5)
    result[near_2] = _polynomial(_LGAMMA_AT_2, x[near_2] - 2.0)
    near_1 = x <= 1.5
    z = x[near_1] - 1.0
    result[near_1] = _polynomial(_LGAMMA_AT_2, z) - np.log1p(z)
    result[x == np.inf] = np.inf
    return result


def lgamma64(x: Array) -> Array:
    """log |gamma(x)| in float64; infinite at zero and the negative integers."""
    flat = x.ravel()
    out = _lgamma_positive(np.maximum(flat, 0.5))
    low = flat < 0.5
    if low.any():  # reflection (6.1.17)
        y = flat[low]
        sine = np.abs(np.sin(math.pi * (y - np.round(y))))
        reflected = math.log(math.pi) - np.log(sine) - _lgamma_positive(1.0 - y)
        reflected[sine == 0] = np.inf
        # Near zero the reflection cancels: log gamma(y) = log gamma(1 + y) - log y.
        small = np.abs(y) < 0.5
        shifted = _lgamma_positive(1.0 + np.where(small, y, 0.0)) - np.log(np.abs(y))
        out[low] = np.where(small, shifted, np.where(y == -np.inf, np.inf, reflected))
    return out.reshape(x.shape)


def _digamma_positive(x: Array) -> Array:
    """The derivative of log gamma for x >= 1/2, by recurrence (6.3.5) and series (6.3.18)."""
    total = np.zeros_like(x)
    while (short := x < 10.0).any():
        total -= np.where(short, 1.0 / x, 0.0)
        x = np.where(short, x + 1.0, x)
    coefficients = tuple(b / (2 * k) for k, b in enumerate(_BERNOULLI, 1))
    s = 1.0 / (x * x)
    return total + np.log(x) - 0.5 / x - s * _polynomial(coefficients, s)


def digamma64(x: Array) -> Array:
    """The derivative of log gamma in float64: a pole at 0 (signed), NaN at negative integers."""
    flat = x.ravel()
    out = _digamma_positive(np.where(flat < 0.5, 0.5, flat))
    low = flat < 0.5
    if low.any():  # reflection (6.3.7)
        y = flat[low]
        angle = math.pi * (y - np.round(y))
        reflected = _digamma_positive(1.0 - y) - math.pi / np.tan(angle)
        reflected[(y == np.floor(y)) & (y < 0)] = np.nan
        out[low] = np.where(y == 0, np.copysign(np.inf, -y), reflected)
    return out.reshape(x.shape)


def _hurwitz_zeta(s: int, x: Array) -> Array:
    """The sum of (x + k)**-s over k >= 0, for an integer s > 1 and x >= 1/2 (23.2, 6.4.11)."""
    total = np.zeros_like(x)
    while (short := x < 12.0 + s).any():
        total += np.where(short, x**-s, 0.0)
        x = np.where(short, x + 1.0, x)
    total = total + x ** (1 - s) / (s - 1) + 0.5 * x**-s
    rising, power = float(s), x ** (-s - 1)
    for j, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * j) * rising * power
        rising *= (s + 2 * j - 1) * (s + 2 * j)
        power = power / (x * x)
    return total


def polygamma64(n: int, x: Array) -> Array:
    """The n-th derivative of digamma, n >= 1, in float64.

    Left of 1/2 the recurrence moves the argument up, or reflection does (6.4.7); poles are
    infinite.
    """
    s, flat = n + 1, x.ravel()
    sign = (-1.0) ** s * math.factorial(n)
    steps = np.clip(np.ceil(0.5 - flat), 0.0, _MOST_STEPS)
    far = flat + steps < 0.5
    total = _hurwitz_zeta(s, np.where(far, 1.0 - flat, flat + steps))
    for k in range(int(np.nanmax(steps, initial=0.0))):
        total += np.where((k < steps) & ~far, (flat + k) ** -s, 0.0)
    total *= sign
    if far.any():
        total[far] = (-1.0) ** n * total[far]
        pole = far & (flat == np.floor(flat))
        total[pole] = sign * np.inf
        far &= ~pole
        total[far] -= _cotangent_derivative(n, flat[far] - np.round(flat[far]))
        if n == 1:  # above 1 the function has infinity for a limit beside the poles, as in PyTorch
            total[flat == -np.inf] = np.nan
    return total.reshape(x.shape)


def _cotangent_derivative(n: int, x: Array) -> Array:
    """The n-th derivative of ``pi cot(pi x)``, a polynomial of the cotangent."""
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        polynomial = -polynomial.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
    value: Array = math.pi ** (n + 1) * polynomial(1.0 / np.tan(math.pi * x))
    return value


# Beyond this many unit steps from the positive axis reflection is quicker.
_MOST_STEPS = 30.0

erfc, erfinv = in_float64(erfc64), in_float64(erfinv64)
lgamma, digamma = in_float64(lgamma64), in_float64(digamma64)
