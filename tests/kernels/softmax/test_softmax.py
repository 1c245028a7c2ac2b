"""Softmax and its kin by compiled kernels: against NumPy's path, float64, and torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.guarded import copied
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import softmax as kernels

pytestmark = needs_llvmlite

WIDTHS = [1, 2, 7, 8, 9, 24, 25, 31, 33, 1000, 1023, 2500]
FORWARD: list[Callable[..., Any]] = [kernels.softmax, kernels.log_softmax]
BACKWARD: list[Callable[..., Any]] = [kernels.softmax_pullback, kernels.log_softmax_pullback]


def normal(*shape: int, scale: float = 3.0) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def shapes() -> list[tuple[tuple[int, ...], int]]:
    """Shapes with an axis: of every width the last, and others with some or much behind."""
    last = [((1 + 5000 // n, n), 1) for n in WIDTHS]
    inner = [((3, n, m), 1) for n in (1, 7, 33) for m in (8, 127, 129, 1500)]
    return [*last, *inner, ((7, 4099), 0), ((2, 3, 5, 700), 1)]


@pytest.mark.parametrize("function", FORWARD, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("shape", "axis"), shapes(), ids=str)
def test_forward(function: Any, shape: tuple[int, ...], axis: int) -> None:
    x = normal(*shape)
    got, exact = function(x, axis), function(x.astype(np.float64), axis)
    with by_numpy():
        np.testing.assert_allclose(got, function(x, axis), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("function", BACKWARD, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("shape", "axis"), shapes(), ids=str)
def test_pullbacks(function: Any, shape: tuple[int, ...], axis: int) -> None:
    g, x = normal(*shape, scale=1.0), normal(*shape)
    forward = kernels.softmax if function is kernels.softmax_pullback else kernels.log_softmax
    out = forward(x, axis)
    got = function(g, out, axis)
    exact = function(g.astype(np.float64), out.astype(np.float64), axis)
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(50, 9), (7, 1025), (2, 21, 129)], ids=str)
def test_float64_is_as_accurate_as_float64_is(shape: tuple[int, ...]) -> None:
    g, x = normal(*shape, scale=1.0).astype("d"), normal(*shape, scale=100.0).astype("d")
    x[0, 1], x[0, 2] = -np.inf, 800.0
    exact: Any = x.astype(np.longdouble)
    exact = exact - exact.max(1, keepdims=True)
    logs = exact - np.log(np.exp(exact).sum(1, keepdims=True))
    y, log_y = kernels.softmax(x, 1), kernels.log_softmax(x, 1)
    np.testing.assert_allclose(y, np.exp(logs).astype("d"), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(log_y, logs.astype("d"), rtol=1e-14, atol=1e-15)
    down = y * (g - (g * y).sum(1, keepdims=True))
    np.testing.assert_allclose(kernels.softmax_pullback(g, y, 1), down, rtol=1e-13, atol=1e-15)
    down = g - np.exp(log_y) * g.sum(1, keepdims=True)
    np.testing.assert_allclose(kernels.log_softmax_pullback(g, log_y, 1), down, atol=1e-13)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp(width: int, keepdim: bool) -> None:
    x = normal(1 + 5000 // width, width)
    got = kernels.logsumexp(x, (1,), keepdim)
    with by_numpy():
        exact = kernels.logsumexp(x.astype(np.float64), (1,), keepdim)
    assert got.shape == exact.shape
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-6)
    for columns, error in ((x.T.copy(), 1e-6), (x.T.astype(np.float64, order="C"), 1e-14)):
        down = kernels.logsumexp(columns, (0,), keepdim)
        assert down.shape == exact.T.shape
        np.testing.assert_allclose(down, exact.T, rtol=error, atol=error)


@pytest.mark.parametrize("width", [2, 9, 33, 1023])
@pytest.mark.parametrize("several", [False, True])
def test_masked(width: int, several: bool) -> None:
    x = normal(6, 5, 200, width)
    rng = np.random.default_rng(1)
    hidden = rng.uniform(size=(5, 200, width) if several else (200, width)) < 0.4
    mask = np.where(hidden, -np.inf, rng.standard_normal(hidden.shape)).astype(np.float32)
    mask[..., 3, :] = -np.inf
    got = kernels.masked_softmax(x, mask)
    with by_numpy():
        np.testing.assert_allclose(got, kernels.masked_softmax(x, mask), rtol=2e-6, atol=1e-7)
    assert not got[..., 3, :].any()
    assert not got[np.broadcast_to(hidden, x.shape)].any()


EXTREMES: dict[str, list[float]] = {
    "all -inf": [-np.inf] * 9, "some -inf": [-np.inf, 1, 2] * 3, "inf": [np.inf, 1, 2] * 3,
    "nan": [1, 2, np.nan] * 3, "nan and inf": [np.nan, np.inf, -np.inf] * 3,
    "far apart": [0, -88, -90, -1e30, 1e30, 1, 0, 0, 0], "huge": [3e38, -3e38, 3e38] * 3,
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_are_those_of_torch(torch: Any, name: str) -> None:
    x = normal(600, 9)
    x[77] = EXTREMES[name]
    t = torch.from_numpy(x)
    with np.errstate(all="raise"):
        found = [kernels.softmax(x, 1), kernels.log_softmax(x, 1),
                 kernels.logsumexp(x, (1,), False)]  # fmt: skip
        down = np.ascontiguousarray(x.T)
        found += [kernels.softmax(down, 0).T, kernels.log_softmax(down, 0).T,
                  kernels.logsumexp(down, (0,), False)]  # fmt: skip
    wanted = 2 * [t.softmax(1), t.log_softmax(1), t.logsumexp(1)]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-5)


def test_other_layouts_and_dtypes() -> None:
    x = normal(300, 40)
    for other in (x[:, ::2], x.T, x[::-1], x.astype(np.float64), x.astype(np.float16)):
        got = kernels.softmax(other, 1)
        wanted = kernels.softmax(np.ascontiguousarray(other, np.float64), 1)
        assert got.dtype == other.dtype
        np.testing.assert_allclose(got, wanted, rtol=2e-3 if got.itemsize == 2 else 3e-6, atol=1e-7)


@pytest.mark.parametrize(("shape", "axis"), [((7, 5), 1), ((1, 1), 1), ((2, 3, 9), 1),
                                             ((1, 2, 130), 1), ((17, 1), 1)], ids=str)  # fmt: skip
def test_stays_within_its_arrays(shape: tuple[int, ...], axis: int) -> None:
    x, g = normal(*shape), normal(*shape, scale=1.0)
    with in_python((kernels, "FEW")):
        pairs = [(f(x, axis), f(x.astype(np.float64), axis)) for f in FORWARD]
        out = pairs[0][0]
        pairs += [(f(g, out, axis), f(g.astype("d"), out.astype("d"), axis)) for f in BACKWARD]
        exact = np.log(np.exp(x).sum(axis, keepdims=True))
        pairs.append((kernels.logsumexp(x, (axis,), True), exact))
        if axis == x.ndim - 1:
            mask = normal(*shape[1:])
            pairs.append(
                (kernels.masked_softmax(x, mask), kernels.softmax(x.astype("d") + mask, 1))
            )
    for got, wanted in pairs:
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16], ids=lambda d: d.__name__)
@pytest.mark.parametrize("axis", [-1, 0], ids=["rows", "columns"])
def test_halves_as_they_lie_are_rounded_once(axis: int, dtype: Any) -> None:
    """Bit for bit what float32 gives, rounded; no memory beside the arrays is touched."""
    rng = np.random.default_rng(0)
    for shape in ((40, 33), (9, 500), (17, 1030), (300, 9)):
        x, g = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
        wide_x, wide_g = (a.astype(np.float32) for a in (x, g))
        for forward, pullback in (
            (kernels.softmax, kernels.softmax_pullback),
            (kernels.log_softmax, kernels.log_softmax_pullback),
        ):
            y = forward(copied(x, True), axis)
            assert y.dtype == dtype
            np.testing.assert_array_equal(y, forward(wide_x, axis).astype(dtype))
            back = pullback(copied(g, False), copied(y, True), axis)
            expected = pullback(wide_g, y.astype(np.float32), axis)
            assert back.dtype == dtype
            np.testing.assert_array_equal(back, expected.astype(dtype))
