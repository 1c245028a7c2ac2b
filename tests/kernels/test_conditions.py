"""Integers compared and counted by kernels, which are run in Python: it checks each index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.variants import in_python
from wengert.kernels import conditions, copies

ANSWERS: dict[Any, tuple[int, int, int]] = {
    np.less: (1, 0, 0), np.equal: (0, 1, 0), np.greater_equal: (0, 1, 1),
}  # fmt: skip


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-3, 4, shape)


@pytest.mark.parametrize("compare", ANSWERS)
def test_compared(compare: Any) -> None:
    x, y = integers(3, 4, 5), integers(3, 1, 5)
    out = np.zeros(x.shape, np.uint8)
    sizes, steps, others = (np.array(v) for v in (x.shape, (20, 5, 1), (5, 0, 1)))
    with in_python():
        conditions.compared.f32(x, y, out, sizes, steps, others, 3, *ANSWERS[compare], 12, 5)
    np.testing.assert_array_equal(out, compare(x, y))


@pytest.mark.parametrize(("n", "inner"), [(60, 1), (5, 1), (4, 5), (3, 20)])
def test_counted(n: int, inner: int) -> None:
    mask = (integers(60 // (n * inner), n, inner) > 0).astype(np.uint8)
    out = np.zeros((len(mask), inner), np.int64)
    with in_python():
        conditions.counted.f32(mask, out, n, inner, out.size, 7)
    np.testing.assert_array_equal(out, mask.sum(1))


def test_marked_and_converted() -> None:
    index, out = integers(6) + 3, np.full((6, 7), 9)
    floats = np.zeros(6, np.float32)
    with in_python():
        conditions.marked.f32(index, out, 7, 6, 4)
        conditions.to_floats.f32(index, floats, 6, 4)
    np.testing.assert_array_equal(out, np.eye(7)[index])
    np.testing.assert_array_equal(floats, index)


def test_integers_with_gaps() -> None:
    x = integers(4, 6)
    out, sizes, steps = np.zeros((6, 2), np.int64), np.array([6, 2]), np.array([1, 12])
    with in_python():
        copies.copy_integers.f32(x, out, sizes, steps, 2, 6, 4)
    np.testing.assert_array_equal(out, x.T[:, ::2])
