"""Sums of columns."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert.kernels import jit
from wengert.kernels.columns import _plain, _strips, column_sums
from wengert.kernels.shapes import unbroadcast

rng = np.random.default_rng(0)


@pytest.mark.parametrize("sums", [column_sums, _plain])
@pytest.mark.parametrize(
    "shape",
    [(64, 5000), (1, 5000), (7, 600), (70_000, 1), (9_001, 10), (3_000, 127), (1025, 513),
     (5_003, 129), (2_049, 1024), (5, 3), (0, 5), (5000, 0)],
)  # fmt: skip
def test_sums_of_columns(sums, shape) -> None:  # type: ignore[no-untyped-def]
    x = rng.random(shape, dtype=np.float32)
    got = sums(x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, x.sum(0, dtype=np.float64), rtol=1e-6)


def test_digits_do_not_depend_on_the_number_of_threads() -> None:
    x = rng.standard_normal((5_000, 700), dtype=np.float32)
    before = jit.get_threads()
    found = []
    for count in (1, 3):
        jit.set_threads(count)
        found.append(column_sums(x))
    jit.set_threads(before)
    assert np.array_equal(*found)


def test_the_kernel_stays_within_its_arrays() -> None:
    x = rng.standard_normal((11, 520), dtype=np.float32)
    sums = np.full(520, np.nan, np.float32)
    _strips.python(x.ravel(), sums, 11, 520, 520, 2, 0, 2)
    np.testing.assert_allclose(sums, x.sum(0, dtype=np.float64), atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "to"),
    [((40, 30, 50), (50,)), ((40, 30, 50), (1, 1, 50)), ((40, 30, 50), (30, 50)),
     ((40, 30, 50), (1, 30, 50)), ((40, 30, 50), (40, 1, 50)), ((40, 30, 50), ()),
     ((40, 30, 50), (1, 30, 1)), ((5000, 1), (1,))],
)  # fmt: skip
def test_what_was_broadcast_is_summed(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    g = rng.random(shape, dtype=np.float32)
    got, expected = unbroadcast(g, to), unbroadcast(g.astype(np.float64), to)
    assert got.shape == expected.shape == to
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_gradients_of_a_bias_and_sums_of_a_tensor() -> None:
    g = wengert.rand(3_000, 200)
    bias = wengert.zeros(200, requires_grad=True)
    (bias + g).backward(g)
    exact = g.double().sum(0).float()
    wengert.testing.assert_close(bias.grad, exact, rtol=1e-6, atol=0)
    wengert.testing.assert_close(g.sum(0), exact, rtol=1e-6, atol=0)
    wengert.testing.assert_close(g.sum(0, keepdim=True), exact[None], rtol=1e-6, atol=0)
    wengert.testing.assert_close(g.T.contiguous().T.sum(0), exact, rtol=2e-6, atol=0)
