"""Pooling by kernels finds what NumPy finds, window by window."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert
from tests.kernels.guarded import copied
from wengert.kernels import pool
from wengert.kernels.geometry import runs_of
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.pool import native
from wengert.nn import functional as F
from wengert.ops.pool import Windows, _given, _windows

needs_kernels = pytest.mark.skipif(not available(), reason="no llvmlite")


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(pool, "_MANY", 1 << 62)
    return pool


def windows_of(shape: tuple[int, ...], n: int, *options: Any) -> Windows | None:
    """The windows, where there are some."""
    *given, ceil_mode = options
    try:
        return _windows("max_pool", shape[-n:], _given("max_pool", n, *given), ceil_mode)
    except RuntimeError:
        return None


def check(by_numpy: Any, x: np.ndarray, windows: Windows) -> None:
    rng, n = np.random.default_rng(0), len(windows.kernel)
    size = x.shape[-n:]
    found = native.max_planes(x, *windows)
    assert found is not None
    values, where = found
    positions = by_numpy.max_positions(x, *windows)
    np.testing.assert_array_equal(where, positions)
    np.testing.assert_array_equal(values, by_numpy.take_positions(x, positions, n))
    g = rng.normal(size=values.shape).astype(x.dtype)
    added = native.add_planes(g, where, size)
    wanted = by_numpy.add_positions(g.astype("f8"), positions, size)
    np.testing.assert_allclose(added, wanted, rtol=1e-5, atol=1e-5)
    x = np.nan_to_num(x, neginf=0)
    sums = native.sum_planes(x, *windows)
    np.testing.assert_allclose(sums, by_numpy.window_sum(x.astype("f8"), *windows), atol=1e-4)
    geometry = windows.geometry
    spread = native.spread_planes(g, windows.kernel, size, geometry)
    wanted = by_numpy.window_spread(g.astype("f8"), windows.kernel, size, geometry)
    np.testing.assert_allclose(spread, wanted, atol=1e-5)


def values(shape: tuple[int, ...], special: float | None) -> np.ndarray:
    """Numbers among which some are equal, or special."""
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=shape) * 2).astype("f4") / 2
    if special is not None:
        x[rng.random(shape) < 0.4] = special
    return x


@needs_kernels
@pytest.mark.parametrize("special", [None, np.nan, -np.inf, 0.0])
@pytest.mark.parametrize("kernel", [(4, 4), (3, 7), (1, 16), (9, 5), (2, 64), (2, 65), (5, 20)])
@pytest.mark.parametrize("stride", [2, 5, 16])
def test_wide_windows(
    kernel: tuple[int, int], stride: int, special: float | None, by_numpy: Any
) -> None:
    x = values((2, 3, 20, 70), special)
    x[0, 0] = -np.inf
    x[0, 1] = np.where(x[0, 1] == 0, -0.0, x[0, 1])
    for padding in ((0, 0), (min(1, kernel[0] // 2), 2)):
        windows = windows_of(x.shape, 2, kernel, stride, padding, 1, False)
        assert windows is not None
        check(by_numpy, x, windows)
        check(by_numpy, x.astype("f8"), windows)


@needs_kernels
@pytest.mark.parametrize("special", [None, np.nan, -np.inf])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("length", [5, 18])
def test_windows(n: int, length: int, special: float | None, by_numpy: Any) -> None:
    shape = (2, 3, *((length,) * n if n < 3 else (4, 3, length)))
    x = values(shape, special)
    seen = 0
    for options in product((1, 2, 3, 4), (1, 2, 3), (0, 1, 2), (1, 2), (False, True)):
        windows = windows_of(shape, n, *options)
        if windows is not None:
            check(by_numpy, x.astype("f8") if seen % 3 == 0 else x, windows)
            seen += 1
    assert seen > 10


@needs_kernels
@pytest.mark.parametrize(
    ("shape", "n", "options"),
    [
        ((3, 4, 7, 7), 2, (7, 7, 0, 1, False)),
        ((3, 4, 7, 7), 2, (7, 7, 3, 1, False)),
        ((3, 4, 5, 7, 7), 3, ((5, 7, 7), 1, 0, 1, False)),
        ((2, 2, 6, 7), 2, ((2, 7), (2, 7), 0, 1, False)),
        ((2, 2, 9, 40), 2, ((3, 5), (2, 3), (1, 2), (2, 4), True)),
        ((1, 1, 1), 1, (1, 1, 0, 1, False)),
        ((0, 3, 8, 8), 2, (2, 2, 0, 1, False)),
        ((1, 300, 17, 23), 2, (3, 2, 1, 1, False)),
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_shapes(shape: tuple[int, ...], n: int, options: Any, threads: int, by_numpy: Any) -> None:
    windows, before = windows_of(shape, n, *options), get_threads()
    assert windows is not None
    try:
        set_threads(threads)
        check(by_numpy, values(shape, None), windows)
    finally:
        set_threads(before)


def test_what_kernels_may_not_read_is_left_to_numpy() -> None:
    windows = windows_of((8, 8), 2, 2, 2, 0, 1, False)
    assert windows is not None
    for x in (np.ones((2, 3, 8, 8), int), np.ones((2, 3, 8, 16), "f4")[..., ::2]):
        assert native.max_planes(x, *windows) is None
        assert native.sum_planes(x, *windows) is None
        np.testing.assert_array_equal(pool.window_sum(x, *windows), np.full((2, 3, 4, 4), 4))
        assert (
            pool.max_pool(x, *windows)[1][0, 0].tolist()
            == ((np.arange(4) * 16)[:, None] + np.arange(4) * 2).tolist()
        )


@needs_kernels
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("shape", "kernel", "runs"),
    [
        ((3, 50, 64), (16,), (4, 16)),
        ((3, 9, 8, 64), (1, 32), (16, 32)),
        ((3, 9, 8, 64), (8, 64), (1, 512)),
        ((3, 50, 70), (16,), None),  # some are left
        ((3, 9, 8, 64), (2, 64), None),
    ],
)
def test_windows_side_by_side(
    shape: Any, kernel: Any, runs: Any, dtype: str, by_numpy: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(native, "LARGE", 1)
    n = len(kernel)
    windows = windows_of(shape, n, kernel, kernel, 0, 1, False)
    assert windows is not None
    assert runs_of(shape[-n:], *windows) == runs
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    sums = native.sum_planes(x, *windows)
    assert sums is not None
    wanted = by_numpy.window_sum(x.astype("f8"), *windows)
    exact = 1e-12 if dtype == "f8" else 1e-4
    np.testing.assert_allclose(sums, wanted, atol=exact)
    spread = native.spread_planes(sums, kernel, shape[-n:], windows.geometry)
    wanted = by_numpy.window_spread(wanted, kernel, shape[-n:], windows.geometry)
    np.testing.assert_allclose(spread, wanted, atol=exact)


@needs_kernels
@pytest.mark.parametrize("special", [None, np.nan, -np.inf])
@pytest.mark.parametrize("dtype", [wengert.float16, wengert.bfloat16], ids=str)
def test_halves_are_pooled_by_kernels(
    dtype: Any, special: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pool, "_max_positions")
    x = wengert.from_numpy(values((2, 3, 9, 10), special)).to(dtype)
    for options in ((2,), (3, 2, 1), (3, 1, 1)):
        out, where = F.max_pool2d(x, *options, return_indices=True)
        wide, there = F.max_pool2d(x.float(), *options, return_indices=True)
        assert out.dtype is dtype
        np.testing.assert_array_equal(where.numpy(), there.numpy())
        np.testing.assert_array_equal(out.float().numpy(), wide.numpy())
        np.testing.assert_array_equal(F.max_pool2d(x, *options).float().numpy(), wide.numpy())


CALLS = [
    lambda f, x: f.max_pool2d(x, 2),
    lambda f, x: f.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    lambda f, x: f.max_pool2d(x, 3, 1, 1, return_indices=True)[0],
    lambda f, x: f.max_pool2d(x[0], 2),
    lambda f, x: f.max_pool3d(x, 2),
    lambda f, x: f.max_pool1d(x[0], 3, 2),
    lambda f, x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda f, x: f.avg_pool2d(x, 2, divisor_override=3),
    lambda f, x: f.adaptive_avg_pool2d(x, 1),
    lambda f, x: f.adaptive_avg_pool2d(x[0], (2, 1)),
    lambda f, x: f.adaptive_max_pool2d(x, (5, 6)),
    lambda f, x: f.adaptive_max_pool2d(x, (2, 3), return_indices=True)[0],
]


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_gradients_are_pytorchs(call: Any, torch: Any) -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(size=(2, 8, 10, 12)).astype("f4")
    results = []
    for library, functional in ((wengert, F), (torch, torch.nn.functional)):
        x = library.tensor(array).requires_grad_()
        out = call(functional, x)
        (first,) = library.autograd.grad((out * out * out).sum(), x, create_graph=True)
        (second,) = library.autograd.grad((first * first).sum(), x)
        results.append([t.detach().numpy() for t in (out, first, second)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@needs_kernels
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16], ids=lambda d: d.__name__)
def test_maxima_of_halves_are_those_of_the_numbers_they_are(dtype: Any, monkeypatch: Any) -> None:
    """By kernels, where arrays lie in order, and by NumPy; no memory beside them is touched."""
    rng = np.random.default_rng(0)
    for kernel, stride, padding, dilation in (
        (2, 2, 0, 1),
        (3, 2, 1, 1),
        (3, 1, 1, 2),
        (5, 3, 2, 1),
    ):
        for size in ((7, 9), (40, 33)):
            windows = windows_of((3, 2, *size), 2, kernel, stride, padding, dilation, False)
            assert windows is not None
            x = rng.standard_normal((3, 2, *size)).astype(dtype)
            x[0, 0, 3, 4], x[1, 1, 5, 5], x[2, 0, :3, :5] = np.nan, np.inf, -np.inf
            wanted = pool.max_pool(x.astype(np.float32), *windows)
            for many in (1, 1 << 62):
                monkeypatch.setattr(pool, "_MANY", many)
                for given in (copied(x, True), copied(x, False), np.asfortranarray(x)):
                    values, positions = pool.max_pool(given, *windows)
                    assert values.dtype == dtype
                    np.testing.assert_array_equal(values.astype(np.float32), wanted[0])
                    np.testing.assert_array_equal(positions, wanted[1])
