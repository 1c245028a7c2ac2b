"""Microkernels: each tile against NumPy in float64, compiled and as Python runs it."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.kernels._jit import available, kernel
from wengert.kernels._jit.builtins import f32, f32s, i64, i64s
from wengert.kernels.microkernel import dots, gathered_product, lanes, product, shifted, tiles

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


@kernel
def _product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64,
    add: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    product(rows, vectors, a, b, pitch, depth, c, ldc, add)


@kernel
def _gathered(
    rows: i64, vectors: i64, a: f32s, b: f32s, offsets: i64s, count: i64, pitch: i64, depth: i64,
    c: f32s, ldc: i64, add: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    gathered_product(rows, vectors, a, b, offsets, count, pitch, depth, c, ldc, add)


@kernel
def _dots(
    rows: i64, columns: i64, a: f32s, lda: i64, b: f32s, offsets: i64s, steps: i64, c: f32s,
    ldc: i64, add: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    dots(rows, columns, a, lda, b, offsets, steps, c, ldc, add)


@kernel
def _shifted(to: f32s, source: f32s, count: i64, shift: f32, start: i64, stop: i64) -> None:
    shifted(to, source, count, shift)


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _sizes() -> list[tuple[int, int]]:
    return [(rows, v) for rows, most in tiles().items() for v in range(1, most + 1)]


def _close(got: np.ndarray, expected: np.ndarray, depth: int) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=3e-7 * (depth + 1))


@pytest.mark.parametrize("add", [0, 1])
@pytest.mark.parametrize("depth", [0, 1, 2, 37])
def test_product_of_each_tile(depth: int, add: int) -> None:
    for rows, vectors in _sizes():
        width = vectors * lanes()
        a, b, c = _floats(depth, rows), _floats(depth, width + 3), _floats(rows, width + 1)
        expected = c.astype(np.float64)
        expected[:, :width] = a.T.astype(np.float64) @ b[:, :width] + add * expected[:, :width]
        for run in (lambda *x: _product.f32(*x, 1, 1), lambda *x: _product.python(*x, 0, 1)):
            got = c.copy()
            flat = got.reshape(-1)
            run(rows, vectors, a.ravel(), b.ravel(), width + 3, depth, flat, width + 1, add)
            _close(got, expected, depth)


def test_gathered_product_of_each_tile() -> None:
    offsets = np.array([5, 0, 40])
    for rows, vectors in _sizes():
        width = vectors * lanes()
        a, b, c = _floats(4, 3, rows), _floats(4, 40 + width), _floats(rows, width)
        rows_of_b = np.stack(
            [np.pad(b[k], (0, 8))[o : o + width] for k in range(4) for o in offsets]
        )
        expected = a.reshape(12, rows).T.astype(np.float64) @ rows_of_b
        sizes = (offsets, 3, b.shape[1], 4)
        for run in (lambda *x: _gathered.f32(*x, 1, 1), lambda *x: _gathered.python(*x, 0, 1)):
            got = c.copy()
            run(rows, vectors, a.ravel(), b.ravel(), *sizes, got.reshape(-1), width, 0)
            _close(got, expected, 12)


@pytest.mark.parametrize("add", [0, 1])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_dots_of_each_tile(steps: int, add: int) -> None:
    width, offsets = steps * lanes(), np.arange(12) * 3 + 1
    for rows, columns in _sizes():
        a, b, c = _floats(rows, width + 1), _floats(width + 40), _floats(rows, columns + 2)
        met = np.stack([b[o : o + width] for o in offsets[:columns]]).astype(np.float64)
        expected = c.astype(np.float64)
        expected[:, :columns] = a[:, :width] @ met.T + add * expected[:, :columns]
        for run in (lambda *x: _dots.f32(*x, 1, 1), lambda *x: _dots.python(*x, 0, 1)):
            got = c.copy()
            flat = got.reshape(-1)
            run(rows, columns, a.ravel(), width + 1, b, offsets, steps, flat, columns + 2, add)
            _close(got, expected, width)


def test_a_shifted_row_of_each_length() -> None:
    source = _floats(40)
    for count in range(36):
        for shift in (-0.0, 0.5):
            to = np.full(40, 7, np.float32)
            _shifted.f32(to, source, count, shift, 1, 1)
            np.testing.assert_array_equal(to[:count], source[:count] + np.float32(shift))
            assert (to[count:] == 7).all()


def test_a_row_shifted_by_negative_zero_keeps_its_bits() -> None:
    source = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 1, -1, 3], np.float32)
    to = np.empty_like(source)
    _shifted.f32(to, source, 9, -0.0, 1, 1)
    np.testing.assert_array_equal(to.view(np.int32), source.view(np.int32))


def test_nan_and_infinity_stay_in_their_lane() -> None:
    rows, vectors = max(tiles()), 1
    a, b = np.ones((2, rows), np.float32), np.ones((2, lanes()), np.float32)
    b[0, 1], b[1, 2] = np.nan, -np.inf
    c = np.empty((rows, lanes()), np.float32)
    _product.f32(rows, vectors, a, b, lanes(), 2, c, lanes(), 0, 1, 1)
    np.testing.assert_array_equal(c, np.tile(b.sum(0), (rows, 1)))
