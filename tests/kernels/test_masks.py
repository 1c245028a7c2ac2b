"""Elements at masks: compiled, by NumPy, in Python, and PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import masks

SHAPES = [(1,), (300,), (40, 30), (7, 1, 60), (2, 3, 4, 50)]
each_shape = pytest.mark.parametrize("shape", SHAPES)


def sample(shape: tuple[int, ...], dtype: Any = "f4") -> tuple[np.ndarray, np.ndarray]:
    """Numbers, of which a NaN and a negative zero, and a mask."""
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=shape) * 2).astype(dtype)
    if x.dtype.kind == "f":
        x.flat[0], x.flat[x.size // 2] = np.nan, -0.0
    return x, rng.random(shape) < 0.4


def computed(x: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
    taken = masks.taken(x, mask)
    written = x.copy()
    masks.put(written, mask, np.asarray(7, x.dtype))
    return [taken, masks.spread(taken, mask, x.shape), written, masks.places(x), masks.places(mask)]


@needs_llvmlite
@each_shape
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1", "?", "c8"])
def test_kernels_and_numpy_agree(shape: tuple[int, ...], dtype: str) -> None:
    x, mask = sample(shape, dtype)
    for part in (mask, np.zeros_like(mask), np.ones_like(mask)):
        found = computed(x, part)
        with by_numpy(masks):
            for ours, theirs in zip(found, computed(x, part), strict=True):
                assert ours.dtype == theirs.dtype
                np.testing.assert_array_equal(ours, theirs)


@each_shape
def test_kernels_stay_within_their_arrays(shape: tuple[int, ...]) -> None:
    x, mask = sample(shape)
    with by_numpy(masks):
        expected = computed(x, mask)
    with in_python((masks, "SOME")):
        for ours, theirs in zip(computed(x, mask), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_other_layouts_and_masks_of_rows() -> None:
    x, mask = sample((40, 30))
    for array, part in ((x.T, mask.T), (x[::2], mask[::2]), (x, mask[:, 0])):
        np.testing.assert_array_equal(masks.taken(array, part), array[part])
        np.testing.assert_array_equal(masks.places(array), np.argwhere(array))
        expected, got = array.copy(), array.copy()
        expected[part] = 3.0
        masks.put(got, part, np.float32(3))
        np.testing.assert_array_equal(got, expected)
        masks.put(got, part, np.float64(2.5))
        assert (got[part] == 2.5).all()


@pytest.mark.torch
@each_shape
def test_elements_and_gradients_are_pytorchs(torch: Any, shape: tuple[int, ...]) -> None:
    x, mask = sample(shape, "f8")
    found = []
    for lib in (wengert, torch):
        t, m = lib.tensor(np.nan_to_num(x), requires_grad=True), lib.tensor(mask)
        (t[m] ** 2).sum().backward()
        y = lib.tensor(x)
        y[m] = 0.5
        found.append([t.grad, t[m].detach(), t.masked_select(m).detach(), y, lib.nonzero(m),
                      lib.nonzero(y), *lib.nonzero(y, as_tuple=True)])  # fmt: skip
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
