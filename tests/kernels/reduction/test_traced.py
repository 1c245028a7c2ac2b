"""Sums in the loop that computes their terms: as exact as those of arrays, and refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wengert.kernels.jit import available, compiled
from wengert.kernels.jit.tracing import UntraceableError
from wengert.kernels.reduction.traced import Summing

pytestmark = pytest.mark.skipif(not available(), reason="there are no kernels without llvmlite")


def operands(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers far from 0, whose sums in float32 lose digits; of the second, some are negative."""
    rng = np.random.default_rng(0)
    x = (rng.random(shape) + 1000).astype(np.float32)
    return x, rng.normal(1, 1, shape).astype(np.float32)


def check(sums: np.ndarray, terms: np.ndarray, axis: int) -> None:
    """To two units in the last place of the sum of magnitudes, and rounding."""
    exact = terms.astype(np.float64)
    allowed = 2.0**-22 * np.abs(exact).sum(axis) + 1e-30
    assert (np.abs(sums.reshape(-1) - exact.sum(axis).reshape(-1)) <= allowed.reshape(-1)).all()


def test_chunks_of_all_elements() -> None:
    x, y = operands(100_003)
    kernels = Summing([lambda x, y: x - y], [lambda x, y: x * y], "ff")
    out, parts = np.empty_like(x), np.full(7, np.nan, np.float32)
    compiled(kernels.over_all())(x, y, out, parts, 1 << 14, x.size, 1 << 14)
    np.testing.assert_array_equal(out, x - y)
    check(parts.astype(np.float64).sum(keepdims=True), x * y, 0)


def test_rows() -> None:
    x, y = operands(30, 3001)
    kernels = Summing([], [lambda x, y: x * y], "rr")
    sums = np.full(30, np.nan, np.float32)
    compiled(kernels.over_rows())(x, y, sums, 0, 3001, 0, 3001, 30, 3001, 30, 4)
    check(sums, x * y, 1)


def test_columns_in_pieces() -> None:
    x, y = operands(700, 1030)
    kernels = Summing([], [lambda x, y: x * y], "rr")
    parts = np.full((3, 1030), np.nan, np.float32)
    strides = 0, 1030, 0, 1030
    compiled(kernels.over_columns())(x, y, parts, *strides, 700, 1030, 256, 3, 3, 1)
    for k in range(3):
        piece = slice(256 * k, 256 * k + 256)
        check(parts[k], (x * y)[piece], 0)


REFUSED: list[Callable[[np.ndarray], np.ndarray]] = [np.sin, lambda x: x > 0, lambda x: x]


@pytest.mark.parametrize("function", REFUSED, ids=["guarded", "masks", "the operand"])
def test_what_is_not_summed(function: Callable[[np.ndarray], np.ndarray]) -> None:
    with pytest.raises(UntraceableError):
        Summing([], [function], "f")
