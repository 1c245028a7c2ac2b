"""Resizing by kernels is what NumPy computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python
from wengert.kernels import resample
from wengert.kernels.jit import available
from wengert.kernels.resample import Taps
from wengert.kernels.resample.native import resampled
from wengert.nn import functional as F


@pytest.mark.skipif(not available(), reason="no llvmlite")
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("taps", [1, 2, 5])
@pytest.mark.parametrize("outputs", [1, 9, 40])
def test_taps(axis: int, taps: int, outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 11, 17)).astype("f4")
    size = x.shape[axis]
    source = rng.integers(0, size, (taps, outputs))
    monkeypatch.setattr(resample, "SOME", 1 << 62)
    for weight in (rng.normal(size=(taps, outputs)), *([None] if taps == 1 else [])):
        along = Taps(axis, source, weight, size)
        found = resampled(x, source, weight, axis, None)
        assert found is not None
        np.testing.assert_allclose(found, resample.gather(x.astype("f8"), along), atol=1e-5)
        g = rng.normal(size=found.shape).astype("f4")
        spread = resampled(g, source, weight, axis, size)
        np.testing.assert_allclose(spread, resample.scatter(g.astype("f8"), along), atol=1e-5)


def test_what_kernels_may_not_read_is_left_to_numpy() -> None:
    source = np.zeros((1, 3), np.int64)
    assert resampled(np.ones((4, 5), int), source, None, 0, None) is None
    assert resampled(np.ones((4, 5), "f4").T, source, None, 0, None) is None


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["ascending", "any"])
def test_rows_and_columns_at_once(dtype: str, order: str) -> None:
    """As one axis after the other; in Python, which checks each index, as well."""
    rng = np.random.default_rng(0)
    sources = rng.integers(0, 7, 12), rng.integers(0, 9, 15)
    if order == "ascending":
        sources = np.sort(sources[0]), np.sort(sources[1])
    taps = Taps(3, sources[1][None], None, 9), Taps(2, sources[0][None], None, 7)
    x, g = rng.normal(size=(2, 3, 7, 9)).astype(dtype), rng.normal(size=(2, 3, 12, 15))
    g = g.astype(dtype)

    def both() -> list[np.ndarray]:
        return [resample.gather_all(x, taps), resample.scatter_all(g, taps)]

    with by_numpy():
        expected = both()
    with in_python((resample, "SOME")):
        slow = both()
    for found in (both(), slow):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-4, atol=1e-5)


CALLS = [
    lambda f, x: f.interpolate(x, scale_factor=2),
    lambda f, x: f.interpolate(x, size=(7, 25), mode="bilinear"),
    lambda f, x: f.interpolate(x, size=(30, 9), mode="bicubic", align_corners=True),
    lambda f, x: f.interpolate(x, size=(5, 6), mode="area"),
    lambda f, x: f.adaptive_avg_pool2d(x, (5, 7)),
    lambda f, x: f.pad(x, (2, 1, 3, 0), mode="reflect"),
    lambda f, x: f.pad(x, (2, 1, 3, 4), mode="replicate"),
    lambda f, x: f.pad(x, (2, 1, 3, 4), mode="circular"),
]


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_gradients_are_pytorchs(call: Any, torch: Any) -> None:
    array = np.random.default_rng(0).normal(size=(4, 8, 13, 16)).astype("f4")
    results = []
    for library, functional in ((wengert, F), (torch, torch.nn.functional)):
        x = library.tensor(array).requires_grad_()
        out = call(functional, x)
        (first,) = library.autograd.grad((out * out * out).sum(), x, create_graph=True)
        (second,) = library.autograd.grad((first * first).sum(), x)
        results.append([t.detach().numpy() for t in (out, first, second)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "reflect", "replicate"])
@pytest.mark.parametrize("dtype", [wengert.float32, wengert.float64, wengert.bfloat16])
@pytest.mark.parametrize("shape", [(2, 3, 9, 8), (1, 40, 7, 7), (3, 1, 6, 9)])
def test_channels_last(mode: str, dtype: Any, shape: tuple[int, ...]) -> None:
    """As images in C order, forwards and backwards, and channels last as well."""
    plain = wengert.randn(*shape).to(dtype).requires_grad_(True)
    last = plain.detach().contiguous(memory_format=wengert.channels_last).requires_grad_(True)

    def changed(x: Any) -> Any:
        if mode in ("reflect", "replicate"):
            return F.pad(x, (1, 2, 2, 1), mode=mode)
        return F.interpolate(x, size=(11, 5), mode=mode)

    found, right = changed(last), changed(plain)
    assert found.is_contiguous(memory_format=wengert.channels_last)
    wengert.testing.assert_close(found.contiguous(), right)
    g = wengert.randn(*right.shape).to(dtype)
    (right_back,) = wengert.autograd.grad(right, plain, g)
    (back,) = wengert.autograd.grad(found, last, g.contiguous(memory_format=wengert.channels_last))
    wengert.testing.assert_close(back.contiguous(), right_back)
