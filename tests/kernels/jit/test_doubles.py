"""Functions of doubles in kernels: as accurate as they say, and right for special values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert
from wengert.kernels import jit
from wengert.kernels.jit import LARGE, elementary64, mathlib64
from wengert.kernels.special import erfc64, lgamma64

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")

Array = np.ndarray[Any, Any]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 3.5, np.inf, -np.inf, np.nan, 5e-324, 1e308, 1e-160])
REFERENCES: dict[str, Callable[..., Array]] = {
    "sin": np.sin, "cos": np.cos, "hypot": np.hypot, "fmod": np.fmod,
    "log1p": np.log1p, "expm1": np.expm1, "logaddexp": np.logaddexp,
    "remainder": np.remainder, "floor_divide": np.floor_divide,
}  # fmt: skip
ONE = ("sin", "cos", "log1p", "expm1")

# Functions of one number with a reference in extended precision, and their domains.
EXTENDED: dict[str, tuple[Callable[..., Array], float, float]] = {
    "expm1": (np.expm1, -np.inf, np.inf), "log1p": (np.log1p, -1, np.inf),
    "exp2": (np.exp2, -np.inf, np.inf), "log2": (np.log2, 0, np.inf),
    "log10": (np.log10, 0, np.inf), "sinh": (np.sinh, -np.inf, np.inf),
    "cosh": (np.cosh, -np.inf, np.inf), "tan": (np.tan, -1e6, 1e6), "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1), "atan": (np.arctan, -np.inf, np.inf),
    "asinh": (np.arcsinh, -np.inf, np.inf), "acosh": (np.arccosh, 1, np.inf),
    "atanh": (np.arctanh, -1, 1),
}  # fmt: skip
# The same with values of doubles, which are some units off themselves.
DOUBLE: dict[str, tuple[Callable[..., Array], float, float]] = {
    "erfc": (erfc64, -np.inf, 26.0),
    "erfinv": (lambda x: np.copysign(scipy.special.erfinv(x), x), -1, 1),
    "lgamma": (lgamma64, 0, np.inf),
    "digamma": (lambda x: scipy.special.psi(x), 0, np.inf),
    "trigamma": (lambda x: scipy.special.polygamma(1, x), 0, np.inf),
}
SLACK = {"lgamma": 128}  # where that of arrays is so far off itself, others below 8


def extended_lgamma(x: Array) -> Array:
    """In extended precision: Stirling's series from 20 on, and the logarithms up to there."""
    y = x.astype(np.longdouble)
    lower = sum((np.log(y + k) for k in range(20)), np.longdouble(0))
    y = y + 20
    series = sum(
        (
            np.longdouble(a) / b / y ** (2 * k + 1)
            for k, (a, b) in enumerate([(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188),
                                        (-691, 360360), (1, 156)])
        ),
        np.longdouble(0),
    )  # fmt: skip
    half_log = np.log(8 * np.arctan(np.longdouble(1))) / 2
    return (y - 0.5) * np.log(y) - y + half_log + series - lower


def by_kernel(name: str, *arrays: Array) -> Array:
    """A function of kernels for float64, itself."""
    names = [f"x{i}" for i in range(len(arrays))]
    function = jit.compiled(
        f"def fused({''.join(f'{n}: f64s, ' for n in names)}out: f64s, start: i64, stop: i64)"
        " -> None:\n    for i in range(start, stop):\n"
        f"        out[i] = {name}({', '.join(f'{n}[i]' for n in names)})\n",
        "d:",
    )
    out = np.empty_like(arrays[0])
    function(*arrays, out, out.size, out.size)
    return out


def spread(low: float, high: float) -> Array:
    """Numbers of all sizes in an interval, and many of usual ones."""
    rng = np.random.default_rng(0)
    wide = 10.0 ** rng.uniform(-300, 300, 10_000)
    usual = rng.normal(size=40_000) * 10.0 ** rng.integers(-4, 4, 40_000)
    near_one = 1 - 10.0 ** rng.uniform(-15, 0, 10_000)
    x = np.concatenate([wide, -wide, usual, near_one, -near_one, 2 - near_one])
    found: Array = x[(x > low) & (x < high)]
    return found


def computed(name: str, *arrays: Array) -> Array:
    """By the kernel: arrays are long enough for it."""
    assert arrays[0].size >= LARGE
    found: Array = getattr(wengert, name)(*map(wengert.from_numpy, arrays)).numpy()
    return found


def samples(scale: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    x = scale * rng.normal(size=30_000) * 10.0 ** rng.integers(-6, 5, 30_000)
    y = scale * rng.normal(size=30_000) * 10.0 ** rng.integers(-1, 3, 30_000)
    x[::3] = np.nextafter(np.round(x[::3] / y[::3]) * y[::3], x[::3])  # near whole quotients
    return x, y


def largest_error(found: Array, exact: Array) -> float:
    """In units of the last place."""
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(exact.astype(float)))))


def stated(name: str) -> float:
    function = getattr(mathlib64, name, None) or getattr(elementary64, name)
    text = re.search(r"(\d) ulp", function.__doc__)
    assert text is not None
    return float(text[1])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="nothing to compare with")
@pytest.mark.parametrize("name", ["sin", "cos", "hypot", "log1p", "expm1"])
@pytest.mark.parametrize("scale", [1.0, 1e-158, 1e155, 1e-300])
def test_errors_are_at_most_the_stated_ones(name: str, scale: float) -> None:
    arrays = samples(scale)[: 1 if name in ONE else 2]
    if name == "log1p":
        arrays = (np.concatenate([np.abs(arrays[0]), -1 / (1 + 1e-15 + np.abs(arrays[0]))]),)
    elif name == "expm1":
        arrays = (np.concatenate([np.clip(arrays[0], -800, 709.7), np.linspace(-1, 709.7, 9999)]),)
    elif name in ONE:
        multiples = np.arange(1, 30_000) * 17 * np.longdouble(np.pi) / 2
        arrays = (np.concatenate([np.clip(arrays[0], -1e6, 1e6), multiples.astype(float)]),)
    exact = REFERENCES[name](*[a.astype(np.longdouble) for a in arrays])
    finite = np.abs(exact) < 1e308
    found = computed(name, *arrays)
    assert largest_error(found[finite], exact[finite]) <= stated(name)


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_quotients_are_exact(name: str, scale: float) -> None:
    x, y = samples(scale)
    np.testing.assert_array_equal(computed(name, x, y), REFERENCES[name](x, y))


def test_logarithms_of_sums() -> None:
    x, y = (np.clip(a, -600, 600) for a in samples(1.0))
    larger = np.maximum(np.abs(x), np.abs(y))
    error = np.abs(computed("logaddexp", x, y) - np.logaddexp(x, y))
    assert (error <= stated("logaddexp") * np.spacing(np.maximum(larger, 0.5))).all()


@pytest.mark.parametrize("name", ["sin", "cos", "log1p", "expm1", "hypot", "fmod", "logaddexp"])
def test_special_values_are_those_of_numpy(name: str) -> None:
    x, y = (np.tile(g.ravel(), LARGE // 100) for g in np.meshgrid(SPECIAL, SPECIAL))
    arrays = (x,) if name in ONE else (x, y)
    with np.errstate(all="ignore"):
        found, exact = computed(name, *arrays), REFERENCES[name](*arrays)
    np.testing.assert_allclose(found, exact, rtol=5e-16)
    zero = exact == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(exact[zero]))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="nothing to compare with")
@pytest.mark.parametrize("name", EXTENDED)
def test_errors_of_elementary_functions(name: str) -> None:
    reference, low, high = EXTENDED[name]
    x = spread(low, high)
    with np.errstate(over="ignore"):
        exact = reference(x.astype(np.longdouble))
    usual = (np.abs(exact) < 1.7e308) & (np.abs(exact) > 3e-308)
    found = by_kernel(name, x)
    assert largest_error(found[usual], exact[usual]) <= stated(name)


@pytest.mark.parametrize("name", DOUBLE)
def test_errors_of_special_functions(name: str) -> None:
    reference, low, high = DOUBLE[name]
    x = spread(low, high)
    exact = reference(x)
    usual = (np.abs(exact) < 1.7e308) & (np.abs(exact) > 3e-308)
    found, exact = by_kernel(name, x)[usual], exact[usual]
    unit = np.spacing(np.maximum(np.abs(exact), 1.0 if name == "digamma" else 0.0))
    assert (np.abs(found - exact) / unit).max() <= stated(name) + SLACK.get(name, 8)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="nothing to compare with")
def test_errors_of_log_gamma() -> None:
    x = np.concatenate([spread(1e-3, 40.0), np.linspace(0.4, 9, 20_000)])
    exact = extended_lgamma(x)
    unit = np.spacing(np.maximum(np.abs(exact.astype(float)), 0.01))  # beside zeros it cancels
    assert (np.abs(by_kernel("lgamma", x) - exact) / unit).max() <= stated("lgamma")


def test_angles_of_points() -> None:
    rng = np.random.default_rng(0)
    y, x = (rng.normal(size=20_000) * 10.0 ** rng.integers(-3, 3, 20_000) for _ in range(2))
    y, x = np.concatenate([y, y * 1e304, y * 1e-300]), np.concatenate([x, x * 1e304, x * 1e-300])
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    usual = np.isfinite(x + y) & (np.abs(exact) > 3e-308)
    found = by_kernel("atan2", y, x)
    assert largest_error(found[usual], exact[usual]) <= stated("atan2")


@pytest.mark.parametrize("name", [*EXTENDED, *DOUBLE])
def test_special_values_of_one_number(name: str) -> None:
    reference, low, high = {**EXTENDED, **DOUBLE}[name]
    x = np.concatenate([SPECIAL, -SPECIAL, [0.5, -0.5]])
    x = x[~((x < low) | (x > high))] if name in ("tan", "lgamma", "digamma", "trigamma") else x
    with np.errstate(all="ignore"):
        found, exact = by_kernel(name, x), reference(x)
    np.testing.assert_allclose(found, exact, rtol=1e-14, atol=1e-307)
    zero = exact == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(exact[zero]))


def test_angles_of_special_points() -> None:
    y, x = (g.ravel() for g in np.meshgrid(SPECIAL, SPECIAL))
    found, exact = by_kernel("atan2", y, x), np.arctan2(y, x)
    np.testing.assert_allclose(found, exact, rtol=1e-15, atol=1e-307)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(exact))


def test_logarithms_of_powers_are_whole() -> None:
    tens, twos = 10.0 ** np.arange(0, 23), 2.0 ** np.arange(-1074, 1024)
    np.testing.assert_array_equal(by_kernel("log10", tens), np.arange(0, 23))
    np.testing.assert_array_equal(by_kernel("log2", twos), np.arange(-1074, 1024))
    np.testing.assert_array_equal(by_kernel("exp2", np.arange(-1074.0, 1024)), twos)
