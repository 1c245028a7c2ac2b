"""Functions of doubles in kernels: as accurate as they say, and right for special values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels import jit
from wengert.kernels.jit import LARGE, mathlib64

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")

Array = np.ndarray[Any, Any]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 3.5, np.inf, -np.inf, np.nan, 5e-324, 1e308, 1e-160])
REFERENCES: dict[str, Callable[..., Array]] = {
    "sin": np.sin, "cos": np.cos, "hypot": np.hypot, "fmod": np.fmod,
    "log1p": np.log1p, "expm1": np.expm1, "logaddexp": np.logaddexp,
    "remainder": np.remainder, "floor_divide": np.floor_divide,
}  # fmt: skip
ONE = ("sin", "cos", "log1p", "expm1")


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
    text = re.search(r"(\d) ulp", getattr(mathlib64, name).__doc__)
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
