"""Attention by blocks against NumPy in float64, and against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels import attention, jit
from wengert.nn.functional import scaled_dot_product_attention

RNG = np.random.default_rng(0)
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
needs_kernels = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")
Sizes = tuple[int, int, int, int, int, int]

# (batch, heads, queries, keys, width, out)
SIZES: list[Sizes] = [
    (4, 4, 64, 64, 32, 32),
    (2, 3, 65, 67, 7, 31),
    (1, 1, 130, 200, 64, 80),
    (2, 2, 200, 130, 1, 1),
    (1, 2, 64, 128, 128, 128),
    (3, 1, 9, 300, 31, 7),
    (1, 1, 300, 15, 16, 16),
]


def made(sizes: Sizes, turned: bool) -> list[np.ndarray]:
    """Queries, keys, values and a cotangent; `turned` has heads behind positions in memory."""
    batch, heads, queries, keys, width, out = sizes
    shapes = [(queries, width), (keys, width), (keys, out), (queries, out)]
    if turned:
        found = [RNG.normal(size=(batch, n, heads, w)).swapaxes(1, 2) for n, w in shapes]
    else:
        found = [RNG.normal(size=(batch, heads, n, w)) for n, w in shapes]
    return [x.astype(np.float32, order="K") for x in found]


def expected(
    q: Any, k: Any, v: Any, g: Any, mask: np.ndarray | None, factor: float, causal: bool
) -> tuple[np.ndarray, ...]:
    """Attention and its derivatives, from all scores in float64."""
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    scores = q @ k.swapaxes(-1, -2) * factor
    if causal:
        scores = scores + np.triu(np.full(scores.shape[-2:], -np.inf), 1)
    if mask is not None:
        scores = scores + mask
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = weights.sum(-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    out = weights @ v
    flow = weights * (g @ v.swapaxes(-1, -2) - (g * out).sum(-1, keepdims=True)) * factor
    return out, flow @ k, flow.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g


def check(q: Any, k: Any, v: Any, g: Any, mask: Any = None, causal: bool = False) -> None:
    assert attention.native(q, k, v, mask)
    factor = q.shape[-1] ** -0.5
    out, sums = attention.attend(q, k, v, mask, factor, causal)
    flow = attention.attend_back(g, q, k, v, mask, out, sums, factor, causal)
    for found, right in zip((out, *flow), expected(q, k, v, g, mask, factor, causal), strict=True):
        assert found.shape == right.shape
        scale = np.abs(right).max()
        np.testing.assert_allclose(found, right, rtol=0, atol=3e-6 * scale)


@needs_kernels
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_against_all_scores(sizes: Sizes, causal: bool, turned: bool) -> None:
    check(*made(sizes, turned), causal=causal)


def full(b: int, h: int, n: int, m: int) -> np.ndarray:
    return np.where(RNG.random((b, h, n, m)) < 0.3, -np.inf, RNG.normal(size=(b, h, n, m)))


def of_keys(b: int, h: int, n: int, m: int) -> np.ndarray:
    return np.where(RNG.random((b, 1, 1, m)) < 0.3, -np.inf, 0)


def of_queries(b: int, h: int, n: int, m: int) -> np.ndarray:
    return np.where(RNG.random((n, 1)) < 0.3, -np.inf, 0)


def matrix(b: int, h: int, n: int, m: int) -> np.ndarray:
    return RNG.normal(size=(n, m))


def turned_matrix(b: int, h: int, n: int, m: int) -> np.ndarray:
    return RNG.normal(size=(m, n)).astype(np.float32).T


@needs_kernels
@pytest.mark.parametrize("sizes", SIZES[:3] + SIZES[5:], ids=str)
@pytest.mark.parametrize("mask", [full, of_keys, of_queries, matrix, turned_matrix])
def test_masks(sizes: Sizes, mask: Callable[..., np.ndarray]) -> None:
    check(*made(sizes, True), mask=mask(*sizes[:4]).astype(np.float32, copy=False))


@needs_kernels
def test_fewer_dimensions_and_elements_apart() -> None:
    q, k, v, g = (x[0] for x in made((1, 2, 70, 80, 8, 9), False))
    check(q, k, v, g)
    check(q[0], k[0], v[0], g[0])
    wide = [np.repeat(x, 2, -1)[..., ::2] for x in (q, k, v, g)]
    check(*wide)


@needs_kernels
def test_a_query_that_sees_nothing() -> None:
    q, k, v, g = made((1, 2, 70, 80, 8, 8), False)
    mask = np.zeros((70, 80), np.float32)
    mask[[3, 64]] = -np.inf
    out, sums = attention.attend(q, k, v, mask, 1.0, False)
    flow = attention.attend_back(g, q, k, v, mask, out, sums, 1.0, False)
    assert not out[:, :, [3, 64]].any()
    assert not flow.query[:, :, [3, 64]].any()
    assert all(np.isfinite(x).all() for x in (out, *flow))


@needs_kernels
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite(value: float) -> None:
    q, k, v, _ = made((1, 1, 70, 80, 8, 8), False)
    q[0, 0, 66, 3] = value
    out, _ = attention.attend(q, k, v, None, 0.3, False)
    with np.errstate(invalid="ignore"):
        right = attention.weights(q, k, None, 0.3, False) @ v
    np.testing.assert_allclose(out, right, rtol=0, atol=2e-6)
    assert np.isnan(out[0, 0, 66]).all()


@needs_kernels
def test_large_scores_do_not_overflow() -> None:
    q, k, v, _ = made((1, 1, 70, 80, 8, 8), False)
    out, _ = attention.attend(q * 1000, k * 1000, v, None, 1.0, False)
    best = (q[0, 0] @ k[0, 0].T).argmax(-1)
    np.testing.assert_allclose(out[0, 0], v[0, 0, best], rtol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_kernels_in_python(causal: bool) -> None:
    """Each access of small blocks is within bounds, and nothing is read before it is written."""
    q, k, v, g = made((1, 2, 18, 21, 3, 17), False)
    mask = None if causal else full(1, 2, 18, 21).astype(np.float32)
    right = expected(q, k, v, g, mask, 0.5, causal)
    out, sums = np.full(g.shape, np.nan, np.float32), np.zeros(q.shape[:3], np.float32)
    steps = attention._steps(q, k, v, mask, out)
    sizes = attention._Layout(*attention._sizes(q, k, v), *attention._strides(steps))
    flat = [None if x is None else x.reshape(-1) for x in (q, k, v, mask, out, sums, g)]
    attention._attend.python(*flat[:6], sizes, 0.5, causal, 0, 2)
    np.testing.assert_allclose(out, right[0], atol=2e-6)
    flow = np.full(q.shape, np.nan, np.float32), np.zeros((1, 2, 21, 16)), np.zeros((1, 2, 21, 32))
    steps += attention._steps(g, *flow)
    sizes = attention._BackLayout(*attention._sizes(q, k, v), *attention._strides(steps))
    places = [x.reshape(-1) for x in flow]
    attention._attend_back.python(*flat, *places, sizes, 0.5, causal, 0, 2)
    for found, wanted in zip(flow, right[1:], strict=True):
        np.testing.assert_allclose(found[..., : wanted.shape[-1]], wanted, atol=3e-6)


@needs_kernels
def test_threads_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v, g = made((2, 4, 200, 200, 64, 64), True)
    before = jit.get_threads()
    results = []
    try:
        for threads in (1, 3):
            jit.set_threads(threads)
            out, sums = attention.attend(q, k, v, None, 0.1, True)
            results.append((out, *attention.attend_back(g, q, k, v, None, out, sums, 0.1, True)))
    finally:
        jit.set_threads(before)
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)


@pytest.mark.torch
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("gqa", [False, True])
def test_gradients_as_pytorch(causal: bool, gqa: bool, torch: Any) -> None:
    shapes = [(2, 4, 70, 32), (2, 2 if gqa else 4, 70, 32), (2, 2 if gqa else 4, 70, 32)]
    arrays = [RNG.normal(size=s).astype(np.float32) for s in shapes]
    weight = RNG.normal(size=shapes[0]).astype(np.float32)
    results = []
    for lib, function in (
        (wengert, scaled_dot_product_attention),
        (torch, torch.nn.functional.scaled_dot_product_attention),
    ):
        three = [lib.tensor(a, requires_grad=True) for a in arrays]
        out = function(*three, is_causal=causal, enable_gqa=gqa)
        (out * lib.tensor(weight)).sum().backward()
        results.append([out.detach().numpy(), *(x.grad.numpy() for x in three)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_second_derivatives_and_a_mask_that_learns() -> None:
    arrays = [RNG.normal(size=(1, 2, 40, 5)) for _ in range(3)]
    mask, weight = RNG.normal(size=(40, 40)), RNG.normal(size=(1, 2, 40, 5))
    found = []
    for dtype in (F32, F64):
        four = [wengert.tensor(x.astype(dtype), requires_grad=True) for x in (*arrays, mask)]
        out = scaled_dot_product_attention(*four)
        first = wengert.autograd.grad(
            (out * wengert.tensor(weight.astype(dtype))).sum(), four, create_graph=True
        )
        second = wengert.autograd.grad(sum((x * x).sum() for x in first), four)
        found.append([x.detach().numpy() for x in (out, *first, *second)])
    for single, double in zip(*found, strict=True):
        np.testing.assert_allclose(single, double, rtol=0, atol=2e-5 * np.abs(double).max())


@needs_kernels
@pytest.mark.parametrize("order", [(0, 2, 1, 3), (2, 0, 1, 3)])
def test_heads_lie_together_as_in_the_input(order: tuple[int, ...]) -> None:
    """What users do next, merging heads, then copies nothing."""
    memory = RNG.normal(size=[(3, 2, 70, 16)[k] for k in order]).astype(np.float32)
    q = memory.transpose(np.argsort(order))
    out, sums = attention.attend(q, q, q, None, 1.0, False)
    flow = attention.attend_back(q, q, q, q, None, out, sums, 1.0, False)
    for x in (out, *flow):
        assert x.shape == (3, 2, 70, 16)
        assert x.transpose(order).flags.c_contiguous
