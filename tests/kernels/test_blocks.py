"""Blocks are copied as NumPy copies them, up to the last byte and no further."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.kernels.guarded import copied
from wengert.kernels import blocks


@pytest.mark.parametrize("shape", [(100, 300), (7, 50, 90), (40_000,), (4, 40_001), (3, 4), (0, 5)])
@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_joining_and_rolling(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y, z = (rng.integers(0, 99, shape).astype(dtype) for _ in range(3))
    for axis in range(len(shape)):
        for parts in ([x, y, z], [x, np.asfortranarray(y)], [x, x[..., :0] if axis else x[:0]]):
            if axis and axis != len(shape) - 1 and parts[-1].size != x.size:
                continue
            np.testing.assert_array_equal(
                blocks.joined(parts, axis), np.concatenate(parts, axis), strict=True
            )
        for shift in (0, 1, -3, 1000, shape[axis]):
            rolled = blocks.rolled(x, shift, axis)
            np.testing.assert_array_equal(rolled, np.roll(x, shift, axis), strict=True)
            assert not np.shares_memory(rolled, x)


@pytest.mark.parametrize("shape", [(300, 100), (100, 300), (3, 7, 50, 90), (1, 40_000), (4, 4)])
@pytest.mark.parametrize("dtype", ["f4", "u1", "c16"])
@pytest.mark.parametrize("at_end", [False, True])
def test_triangles(shape: tuple[int, ...], dtype: str, at_end: bool) -> None:
    x = copied(np.random.default_rng(0).integers(1, 99, shape).astype(dtype), at_end)
    for diagonal in (0, 1, -1, 60, -60, 10**12, -(10**12)):
        for upper, reference in ((True, np.triu), (False, np.tril)):
            ours = blocks.triangles(x, diagonal, upper)
            np.testing.assert_array_equal(ours, reference(x, diagonal), strict=True)


@pytest.mark.parametrize("kernels", [False, True])
def test_places_of_triangles(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr(blocks, "available", lambda: False)
    for rows, width in itertools.product((0, 1, 3, 5), (0, 1, 4, 6)):
        for offset in (*range(-8, 9), 10**30, -(10**30)):
            # NumPy's diagonals are numbers of 64 bits.
            k = max(-99, min(offset, 99))
            for upper, reference in ((True, np.triu_indices), (False, np.tril_indices)):
                found = blocks.places_of_triangle(rows, width, offset, upper)
                expected = np.array(reference(rows, k, width), np.int64)
                np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize(
    "shape",
    [(), (0,), (5,), (3, 0), (0, 3), (4, 5), (90, 200), (40_001,), (3, 5, 700), (2, 3, 4, 5)],
)
@pytest.mark.parametrize("dtype", ["f4", "i8", "c8", "u1", "c16"])
def test_flipping(shape: tuple[int, ...], dtype: str) -> None:
    x = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    for count in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            for source in (x, np.asfortranarray(x)):
                flipped = blocks.flipped(source, axes)
                np.testing.assert_array_equal(flipped, np.flip(source, axes), strict=True)
                assert not np.shares_memory(flipped, x)
