"""Products of unpacked blocks: the same digits, whichever tile has a sum."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.guarded import copied, guarded
from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import at, f32s, i64
from wengert.kernels.products import tiles
from wengert.kernels.products.tiles import COLUMNS, PANELS, multiply, row_times

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


@kernel
def _by_rows(a: f32s, b: f32s, c: f32s, depth: i64, add: i64, start: i64, stop: i64) -> None:
    for _ in range(start, stop):
        row_times(a, b, COLUMNS * depth, c, depth, add)


@kernel
def _by_tiles(a: f32s, b: f32s, c: f32s, depth: i64, add: i64, start: i64, stop: i64) -> None:
    for p in range(start, stop):
        to = at(c, p * COLUMNS)
        multiply(a, depth, 1, at(b, p * COLUMNS * depth), COLUMNS, to, 0, 1, depth, add)


@pytest.mark.parametrize("depth", [1, 2, 7, 64, 129])
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("add", [0, 1])
def test_a_row_times_panels(depth: int, at_end: bool, add: int) -> None:
    rng = np.random.default_rng(depth)
    a = copied(rng.standard_normal(depth, dtype=np.float32), at_end)
    b = copied(rng.standard_normal((PANELS, depth, COLUMNS), dtype=np.float32), at_end)
    start = rng.standard_normal(PANELS * COLUMNS, dtype=np.float32)
    c, other = guarded(start.shape, at_end=at_end), start.copy()
    c[...] = start
    _by_rows.f32(a, b, c, depth, add, 1, 1)
    _by_tiles.f32(a, b, other, depth, add, PANELS, PANELS)
    np.testing.assert_array_equal(c, other)
    exact = add * start.astype(np.float64) + (a.astype(np.float64) @ b).ravel()
    np.testing.assert_allclose(c, exact, rtol=0, atol=1e-5)
    by_python = start.copy()
    _by_rows.python(a, b.ravel(), by_python, depth, add, 0, 1)
    np.testing.assert_allclose(by_python, exact, rtol=0, atol=1e-5)


@kernel
def _block(
    a: f32s, b: f32s, c: f32s, rows: i64, depth: i64, add: i64, start: i64, stop: i64
) -> None:
    multiply(a, 1, rows, b, COLUMNS, c, COLUMNS, rows, depth, add)


@kernel
def _block_of_wide_registers(
    a: f32s, b: f32s, c: f32s, rows: i64, depth: i64, add: i64, start: i64, stop: i64
) -> None:
    multiply(a, 1, rows, b, COLUMNS, c, COLUMNS, rows, depth, add)


@pytest.mark.parametrize("rows", [1, 5, 6, 11, 12, 13, 24, 37])
@pytest.mark.parametrize("add", [0, 1])
def test_rows_of_a_block(rows: int, add: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(rows)
    a = copied(rng.standard_normal((33, rows), dtype=np.float32), True)
    b = copied(rng.standard_normal((33, COLUMNS), dtype=np.float32), True)
    start = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    exact = add * start.astype(np.float64) + a.T.astype(np.float64) @ b
    results = []
    for block in (_block, _block_of_wide_registers):
        if block is _block_of_wide_registers:
            monkeypatch.setattr(tiles, "lanes", lambda: 16)
        c = guarded(start.shape, at_end=True)
        c[...] = start
        block.f32(a, b, c, rows, 33, add, 1, 1)
        np.testing.assert_allclose(c, exact, rtol=0, atol=1e-5)
        results.append(c)
    np.testing.assert_array_equal(*results)
