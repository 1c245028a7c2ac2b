"""Conversions of halves are those of NumPy, for every number that there is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert
from tests.kernels.variants import needs_llvmlite
from wengert.kernels import halves

HALVES = pytest.mark.parametrize("dtype", [np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)], ids=str)


def same(ours: np.ndarray, theirs: np.ndarray) -> None:
    nan = np.isnan(theirs)
    np.testing.assert_array_equal(np.isnan(ours), nan)
    bits = f"u{ours.itemsize}"
    np.testing.assert_array_equal(ours.view(bits)[~nan], theirs.view(bits)[~nan])


@needs_llvmlite
@HALVES
def test_every_half_becomes_the_same_float32(dtype: Any) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    same(halves.converted(every, np.dtype("f4")), every.astype(np.float32))


@needs_llvmlite
@HALVES
def test_floats_are_rounded_to_the_nearest_half(dtype: Any) -> None:
    """Those between halves, their neighbours, and some of all others."""
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        middle = ((every[:-1].astype(np.float64) + every[1:]) / 2).astype(np.float32)
    some = np.arange(0, 1 << 32, 997, dtype=np.uint64).astype(np.uint32).view(np.float32)
    for x in (middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), some):
        with np.errstate(all="ignore"):
            same(halves.converted(x, dtype), x.astype(dtype))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_large_tensors_of_any_layout_are_converted(name: str) -> None:
    dtype = getattr(wengert, name)
    x = wengert.randn(90, 80, requires_grad=True)
    heads = x.view(3, 30, 8, 10).transpose(1, 2)
    for y in (x, x.t(), x[::2, ::3], x[:0], x[:, :1].expand(90, 80), heads, heads[..., 3:]):
        half = y.to(dtype)
        np.testing.assert_array_equal(
            half.float().tolist(), y.detach().numpy().astype(half.detach().numpy().dtype).tolist()
        )
    x.to(dtype).sum().backward()
    assert x.grad.dtype is wengert.float32
    assert (x.grad == 1).all()


@needs_llvmlite
@HALVES
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("shape", [(200, 1, 3), (1, 70, 3), (200, 1, 1), (1, 1, 1)])
def test_repeated_elements_are_converted_once(
    dtype: Any, order: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    few = np.random.default_rng(0).standard_normal(shape, np.float32)
    repeated = np.broadcast_to(few, (200, 70, 3)).transpose(order)
    found = halves.converted(repeated, dtype)
    same(found, repeated.astype(dtype))
    assert found.flags.writeable
    assert found.nbytes == 2 * repeated.size
    same(halves.converted(found, np.dtype("f4")), found.astype(np.float32))
