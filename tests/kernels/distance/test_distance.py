"""Distances between rows: compiled, by NumPy in blocks, and PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import distance

POWERS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf)
# Rows, rows, and width: more and fewer than the lanes, the blocks and the strips of the kernels.
SIZES = [(3, 5, 700), (130, 7, 9), (2, 1100, 5), (40, 40, 3)]
each_power = pytest.mark.parametrize("p", POWERS)


def rows(n: int, m: int, width: int, dtype: Any = "f4") -> tuple[np.ndarray, ...]:
    """Two batches of two sets of rows, of which some are equal; and cotangents."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, n, width)), rng.normal(size=(2, m, width))
    y[0, : min(n, m) // 2] = x[0, : min(n, m) // 2]
    y[1, 0, ::2] = x[1, 0, ::2]
    return tuple(v.astype(dtype) for v in (x, y, rng.normal(size=(2, n, m))))


def computed(x: np.ndarray, y: np.ndarray, g: np.ndarray, p: float) -> tuple[np.ndarray, ...]:
    out, pairs = distance.distances(x, y, p), distance.pair_distances(y[1], p)
    if p == 0:
        return out, pairs
    if p == 2:
        return out, pairs, distance.weighed_differences(g, x, y)
    return out, pairs, distance.pullback(g, x, y, out, p)


@needs_llvmlite
@each_power
@pytest.mark.parametrize("size", SIZES)
def test_kernels_and_numpy_agree(size: tuple[int, int, int], p: float) -> None:
    for dtype, error in (("f4", 1e-5), ("f8", 1e-12), ("f2", 2e-3)):
        arguments = rows(*size, dtype)
        if p < 1 and dtype == "f2":  # of large distances, which halves do not hold
            continue
        found = computed(*arguments, p)
        with by_numpy(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(distance, "_BLOCK", 2000)
            expected = computed(*arguments, p)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error * np.abs(theirs).max())


@each_power
def test_kernels_stay_within_their_arrays(p: float) -> None:
    arguments = rows(9, 5, 11)
    found = computed(*arguments, p)
    with in_python((distance, "SOME")), np.errstate(all="ignore"):
        for ours, theirs in zip(found, computed(*arguments, p), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6 * np.abs(theirs).max())


def test_close_points_lose_no_digits() -> None:
    """Whichever mode is asked for; by products the distances would be off by 1e-3."""
    x = np.random.default_rng(0).normal(size=(100, 64)).astype("f4") + 10
    y = x + np.float32(1e-3)
    wanted = np.sqrt(((y - x).astype("f8") ** 2).sum(1))
    for mode in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist"):
        far = wengert.cdist(wengert.tensor(x), wengert.tensor(y), compute_mode=mode)
        np.testing.assert_allclose(np.diagonal(far.numpy()), wanted, rtol=1e-6)


@pytest.mark.torch
@each_power
@pytest.mark.parametrize("size", SIZES)
def test_distances_and_gradients_are_pytorchs(
    torch: Any, size: tuple[int, int, int], p: float
) -> None:
    x, y, g = rows(*size, "f8")
    found = []
    for lib in (wengert, torch):
        a, b = (lib.tensor(v, requires_grad=True) for v in (x, y[:1]))
        far = lib.cdist(a, b, p, "donot_use_mm_for_euclid_dist")
        pairs = lib.nn.functional.pdist(a[0], p)
        loss = (far * lib.tensor(g)).sum() + (pairs * pairs.detach().cos()).sum()
        found.append([far, pairs, *lib.autograd.grad(loss, (a, b))])
    for ours, theirs in zip(*found, strict=True):
        # For p < 1 slopes are steep where a difference is nearly zero.
        tolerance = 1e-8 * max(1.0, theirs.abs().max().item())
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=tolerance
        )


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_all_orders_of_derivatives(p: float) -> None:
    rng = np.random.default_rng(0)
    x, y = (wengert.tensor(rng.normal(size=s), requires_grad=True) for s in ((2, 4, 3), (2, 5, 3)))
    distances = lambda a, b: wengert.cdist(a, b, p)  # noqa: E731
    assert wengert.autograd.gradcheck(distances, (x, y), check_forward_ad=True)
    assert wengert.autograd.gradgradcheck(distances, (x, y))
    pairs = lambda a: wengert.nn.functional.pdist(a, p)  # noqa: E731
    assert wengert.autograd.gradcheck(pairs, x[0], check_forward_ad=True)
    assert wengert.autograd.gradgradcheck(pairs, x[0])
    stacked = wengert.stack([pairs(x[0]), pairs(x[1])])
    np.testing.assert_allclose(wengert.func.vmap(pairs)(x).tolist(), stacked.tolist(), rtol=1e-12)
    each = wengert.func.vmap(distances, in_dims=(0, None))(x, y[0])
    np.testing.assert_array_equal(each.detach().numpy(), distances(x, y[:1]).detach().numpy())


def pulled(x: np.ndarray, g: np.ndarray, p: float) -> np.ndarray:
    """The cotangent of rows, of that of the distances of their pairs."""
    far = distance.pair_distances(x, p)
    found = distance.pairs_pullback(g, x, far, p)
    if found is not None:
        return found
    square, out = (distance.placed_above(v, len(x)).astype(x.dtype) for v in (g, far))
    square, out = square + square.T, out + out.T
    if p == 2:
        return distance.weighed_differences(square * distance._inverse_or_zero(out), x, x)
    return distance.pullback(square, x, x, out, p)


@needs_llvmlite
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(7, 300), (300, 3), (41, 64)], ids=str)
def test_pairs_are_pulled_back_at_once(shape: tuple[int, int], p: float) -> None:
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=shape), rng.normal(size=shape[0] * (shape[0] - 1) // 2)
    x[2] = x[4]
    for dtype, error in (("f4", 1e-5), ("f8", 1e-12)):
        ours = pulled(x.astype(dtype), g.astype(dtype), p)
        with by_numpy():
            theirs = pulled(x.astype(dtype).astype("d"), g.astype(dtype).astype("d"), p)
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=error, atol=error * np.abs(theirs).max())
    with in_python((distance, "SOME")):
        few = pulled(x[:6, :5], g[:15], p)
    with by_numpy():
        np.testing.assert_allclose(few, pulled(x[:6, :5], g[:15], p), rtol=1e-10, atol=1e-12)
