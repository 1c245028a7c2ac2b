"""The functions of kernels are as accurate as they say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from wengert.kernels import jit
from wengert.kernels.jit import mathlib, precise, special

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")


def _measure() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "benchmarks" / "accuracy.py"
    spec = importlib.util.spec_from_file_location("accuracy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


accuracy = _measure()


@pytest.mark.parametrize("name", accuracy.functions())
def test_errors_are_at_most_the_stated_ones(name: str) -> None:
    function = next(vars(m)[name] for m in (special, precise, mathlib) if name in vars(m))
    stated = re.search(r"(\d\.\d) ulp", function.__doc__)
    assert stated is not None, "the docstring says the largest error"
    worst, _, place = accuracy.largest(name, 99_991)
    assert worst <= float(stated[1]), place


@pytest.mark.parametrize("name", [n for n in accuracy.functions() if n not in accuracy.TWO])
def test_special_values_are_those_of_numpy(name: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-40, 1.0, -1.0], np.float32)
    low, high = accuracy.DOMAINS.get(name, (-np.inf, np.inf))
    x = x[~((x < low) | (x > high))]
    found = np.empty_like(x)
    accuracy.compiled(name, 1)(x, found, x.size, x.size)
    with np.errstate(all="ignore"):
        exact = accuracy.REFERENCES[name](x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(found, exact, rtol=5e-7, atol=3e-45)
    zero = found == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(exact[zero]))


def test_powers_of_special_values_are_those_of_numpy() -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, np.inf, -np.inf, np.nan]
    x, y = (g.astype(np.float32).ravel() for g in np.meshgrid(values, values))
    found = np.empty_like(x)
    accuracy.compiled("pow", 2)(x, y, found, x.size, x.size)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y).astype(np.float32)
    np.testing.assert_allclose(found, exact, rtol=1e-7)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(exact[found == 0]))
