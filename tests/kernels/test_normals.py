"""Normal numbers by kernels are those of NumPy's functions, bit by bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert
from wengert.kernels import jit, normals

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [16, 17, 31, 1000, 1008, 40_001])
def test_draws_do_not_depend_on_kernels(
    size: int, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = a.normal((size,), 0.5, 2.0, dtype)
    monkeypatch.setattr(wengert.Generator, "normalizer", None)
    expected = b.normal((size,), 0.5, 2.0, dtype)
    assert found.dtype == expected.dtype == dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("size", [16, 17, 31, 1000])
def test_the_stream_goes_on_alike(size: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = a.normal((size,), np_dtype=dtype)
    monkeypatch.setattr(wengert.Generator, "normalizer", None)
    np.testing.assert_array_equal(found, b.normal((size,), np_dtype=dtype))
    np.testing.assert_array_equal(a.random32(700), b.random32(700))


def test_the_ends_of_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normals, "words", lambda *_: np.array([0, 2**24 - 1] * 8, np.int32))
    values = normals.drawn(np.zeros(625, np.uint32), 16, np.dtype(np.float32), True)
    assert values is not None
    assert np.isfinite(values).all()
    assert (values[:8] == 0)[::2].all()  # a radius of zero


@pytest.mark.parametrize("drawn", [(3, 1, 4), (2, 2), (15,), (0, 1, 0)])
def test_one_after_the_other_they_are_those_of_c(drawn: tuple[int, ...]) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = np.concatenate([a.normal_sequence(n) for n in drawn])
    expected: list[float] = []
    while len(expected) < len(found):
        angle, rest = 2 * math.pi * b.doubles(1)[0], -b.doubles(1)[0]
        radius = math.sqrt(-2 * math.log1p(rest))
        expected += [radius * math.cos(angle), radius * math.sin(angle)]
    assert found.tolist() == expected[: len(found)]


def test_one_after_the_other_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = [a.normal_sequence(n) for n in (3, 4)]
    monkeypatch.setattr(wengert.Generator, "sequencer", None)
    for values in found:
        np.testing.assert_allclose(values, b.normal_sequence(len(values)), rtol=1e-13)
