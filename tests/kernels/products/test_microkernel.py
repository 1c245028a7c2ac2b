"""Microkernels: each tile against NumPy in float64, compiled and as Python runs it."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import f32s, i64, i64s
from wengert.kernels.products.microkernel import (
    dots,
    gathered_product,
    lanes,
    listed_dots,
    listed_product,
    product,
    tiles,
    transposed,
)

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
def _listed(
    rows: i64, vectors: i64, a: f32s, a_places: i64s, a_step: i64, b: f32s, b_places: i64s,
    b_step: i64, count: i64, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    listed_product(
        rows, vectors, a, a_places, a_step, b, b_places, b_step, count, pitch, depth, c, ldc, add
    )


@kernel
def _listed_dots(
    rows: i64, columns: i64, a: f32s, lda: i64, a_places: i64s, a_step: i64, b: f32s, ldb: i64,
    b_places: i64s, b_step: i64, count: i64, vectors: i64, c: f32s, ldc: i64, c_step: i64,
    add: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    listed_dots(
        rows, columns, a, lda, a_places, a_step, b, ldb, b_places, b_step, count, vectors, c,
        ldc, c_step, add,
    )  # fmt: skip


@kernel
def _transposed(to: f32s, to_pitch: i64, source: f32s, pitch: i64, start: i64, stop: i64) -> None:
    transposed(to, to_pitch, source, pitch)


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


@pytest.mark.parametrize("add", [0, 1])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_listed_product_of_each_tile(count: int, add: int) -> None:
    at, met = np.array([4, 0, 1]), np.array([2, 1, 5])
    depth, n = 5, len(at[:count])
    for rows, vectors in _sizes():
        width = vectors * lanes()
        a, b, c = _floats(5, depth, rows), _floats(6, depth, width), _floats(rows, width)
        products = np.einsum("jkm,jkp->mp", *(x.astype(float) for x in (a[at[:n]], b[met[:n]])))
        expected = products + add * c
        sizes = (at, depth * rows, b.ravel(), met, depth * width, count, width, depth)
        for run in (lambda *x: _listed.f32(*x, 1, 1), lambda *x: _listed.python(*x, 0, 1)):
            got = c.copy()
            run(rows, vectors, a.ravel(), *sizes, got.reshape(-1), width, add)
            _close(got, expected, depth * count)


@pytest.mark.parametrize("add", [0, 1])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_listed_dots_of_each_tile(count: int, add: int) -> None:
    at, met = np.array([4, 0, 1]), np.array([2, 1, 5])
    for rows, columns in _sizes():
        n = 2 * lanes()
        a, b, c = _floats(rows, 5, n), _floats(columns, 6, n + 1), _floats(rows, columns, 3)
        expected = c.astype(np.float64)
        found = np.einsum("mip,jip->mj", a[:, at[:count]].astype(float), b[:, met[:count], :n])
        expected[:, :, 0] = found + add * expected[:, :, 0]
        sides = (a.ravel(), 5 * n, at, n, b.ravel(), 6 * (n + 1), met, n + 1, count, 2)
        for run in (
            lambda *x: _listed_dots.f32(*x, 1, 1), lambda *x: _listed_dots.python(*x, 0, 1)
        ):  # fmt: skip
            got = c.copy()
            run(rows, columns, *sides, got.reshape(-1), columns * 3, 3, add)
            _close(got, expected, n * count)


def test_a_transposed_block() -> None:
    source = _floats(8, 11)
    for run in (lambda *x: _transposed.f32(*x, 1, 1), lambda *x: _transposed.python(*x, 0, 1)):
        to = np.zeros((8, 9), np.float32)
        run(to.reshape(-1), 9, source.ravel(), 11)
        np.testing.assert_array_equal(to[:, :8], source[:, :8].T)
        assert not to[:, 8].any()


def test_nan_and_infinity_stay_in_their_lane() -> None:
    rows, vectors = max(tiles()), 1
    a, b = np.ones((2, rows), np.float32), np.ones((2, lanes()), np.float32)
    b[0, 1], b[1, 2] = np.nan, -np.inf
    c = np.empty((rows, lanes()), np.float32)
    _product.f32(rows, vectors, a, b, lanes(), 2, c, lanes(), 0, 1, 1)
    np.testing.assert_array_equal(c, np.tile(b.sum(0), (rows, 1)))
