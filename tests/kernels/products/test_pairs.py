"""Products of bfloat16 on pairs of terms: values, layouts, edges of tiles, threads."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.kernels.threads import same_for_all_threads
from wengert.kernels.jit import available
from wengert.kernels.products import gemm, pairs
from wengert.kernels.products.microkernel import lanes, tiles

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

BRAIN = np.dtype(ml_dtypes.bfloat16)
HIGH = max(tiles()) if available() else 8
WIDE = tiles()[HIGH] * lanes() if available() else 48
rng = np.random.default_rng(0)


@pytest.fixture(params=["added", "dotted"])
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the processor's instruction for pairs, and without it."""
    if request.param == "dotted" and not pairs.has_pair_dots():
        pytest.skip("the processor has no instruction for pairs")
    monkeypatch.setattr(pairs, "has_pair_dots", lambda: request.param == "dotted")
    return str(request.param)


def laid_out(rows: int, columns: int, layout: str) -> np.ndarray:
    """A matrix: in rows, transposed, every other column of a larger one, or not aligned."""
    if layout == "t":
        return rng.standard_normal((columns, rows)).astype(BRAIN).T
    if layout == "s":
        return rng.standard_normal((2 * rows, 2 * columns)).astype(BRAIN)[::-2, ::2]
    if layout == "o":  # begins in the middle of a word
        return rng.standard_normal(rows * columns + 1).astype(BRAIN)[1:].reshape(rows, columns)
    return rng.standard_normal((rows, columns)).astype(BRAIN)


def assert_product(got: np.ndarray | None, a: np.ndarray, b: np.ndarray) -> None:
    assert got is not None
    assert got.dtype == np.float32
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    bound = 2e-7 * a.shape[-1] * (np.abs(wide_a) @ np.abs(wide_b)) + 1e-30
    assert (np.abs(got - wide_a @ wide_b) <= bound).all()


@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt", "ss", "on", "no"])
def test_layouts(way: str, layouts: str) -> None:
    for m, n, k in ((2, 2, 1), (33, 70, 129), (130, 40, 64)):
        a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
        assert_product(gemm.gemm_of_pairs(a, b), a, b)


SIZES = st.integers(2, 2 * HIGH + 1), st.integers(2, 2 * WIDE + 1), st.integers(1, 70)


@settings(max_examples=60, deadline=None)
@given(st.tuples(*SIZES), st.sampled_from(["nn", "nt", "tn"]), st.booleans())
def test_edges_of_tiles(sizes: tuple[int, int, int], layouts: str, dotted: bool) -> None:
    m, n, k = sizes
    a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
    if dotted and not pairs.has_pair_dots():
        return
    run = pairs._DOTTED if dotted else pairs._ADDED
    left = pairs.paired(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    assert_product(gemm._packed(left, pairs.paired(b), None, None, run), a, b)


def test_batches_and_rows_that_are_added(way: str) -> None:
    a, b = (rng.standard_normal(s).astype(BRAIN) for s in ((3, 2, 20, 31), (2, 31, 50)))
    assert_product(gemm.gemm_of_pairs(a, b), a, b)
    bias = rng.standard_normal(50).astype(np.float32)
    got = gemm.gemm_of_pairs(a[0, 0], b[0], bias)
    assert got is not None
    assert_product(got - bias, np.hstack([a[0, 0], np.ones((20, 1), BRAIN)]),
                   np.vstack([b[0], np.zeros((1, 50), BRAIN)]))  # fmt: skip


def test_digits_do_not_depend_on_threads(way: str) -> None:
    a, b = laid_out(301, 257, "n"), laid_out(257, 190, "n")
    assert_product(same_for_all_threads(lambda: gemm.gemm_of_pairs(a, b)), a, b)


def test_not_a_number_and_infinity_stay_in_their_rows(way: str) -> None:
    a, b = laid_out(40, 65, "n"), laid_out(65, 70, "n")
    a[3, 64], a[7, 0] = np.nan, np.inf
    out = gemm.gemm_of_pairs(a, b)
    assert out is not None
    assert np.isnan(out[3]).all()
    assert np.isinf(out[7]).all()
    assert np.isfinite(np.delete(out, [3, 7], 0)).all()


def test_terms_side_by_side_are_not_copied() -> None:
    w = laid_out(30, 64, "n")
    assert np.shares_memory(pairs.paired(w.T), w)
    assert pairs.paired(w.T).shape == (32, 30)
    assert not np.shares_memory(pairs.paired(w), w)
    assert pairs.paired(w).shape == (15, 64)
    assert pairs.paired(laid_out(7, 5, "n")).shape == (4, 5)


def test_parts_of_a_batch_that_begin_within_words(way: str) -> None:
    base = rng.standard_normal((3, 9, 33)).astype(BRAIN)
    for x in (base[..., 1:], base[..., :32], base[:, :8:2, :32], base[:1, :, :32], base[..., :31]):
        w = laid_out(x.shape[-1], 6, "n")
        assert_product(gemm.gemm_of_pairs(x, w), x, w)
        turned = x.swapaxes(-1, -2)
        assert_product(gemm.gemm_of_pairs(w.T, turned), w.T, turned)


def test_a_tile_in_python() -> None:
    rows, depth = 2, 5
    a = rng.standard_normal((depth, rows, 2)).astype(BRAIN)
    b = rng.standard_normal((depth, lanes(), 2)).astype(BRAIN)
    c = np.zeros(rows * lanes(), np.float32)
    flat = [x.reshape(-1).view(np.float32) for x in (a, b)]
    pairs.pairs_product(rows, 1, *flat, lanes(), depth, c, lanes(), 0)
    exact = np.einsum("krp,kcp->rc", a.astype(float), b.astype(float))
    np.testing.assert_allclose(c.reshape(rows, -1), exact, rtol=1e-5, atol=1e-5)


def test_what_is_no_product_of_matrices() -> None:
    a = laid_out(4, 4, "n")
    assert gemm.gemm_of_pairs(a[0], a) is None
    assert gemm.gemm_of_pairs(a[:1], a) is None
    assert gemm.gemm_of_pairs(a, a[:3]) is None
    assert gemm.gemm_of_pairs(a[:, :0], a[:0]) is None


@pytest.mark.torch
@pytest.mark.parametrize("bias", [False, True])
def test_layers_beside_pytorch(torch: Any, bias: bool) -> None:
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in ((128, 96), (80, 96), (128, 80)))
    row = rng.standard_normal(80).astype(np.float32)
    found = []
    for lib in (wengert, torch):
        values = [lib.from_numpy(v).bfloat16().requires_grad_() for v in (x, w, row)]
        out = lib.nn.functional.linear(*values[: 2 + bias])
        out.backward(lib.from_numpy(g).bfloat16())
        assert out.dtype is lib.bfloat16
        found.append([out.detach(), *(v.grad for v in values[: 2 + bias])])
    for ours, theirs in zip(*found, strict=True):
        scale = float(theirs.float().abs().max())
        np.testing.assert_allclose(
            ours.float().numpy(), theirs.float().numpy(), rtol=2**-7, atol=scale * 2**-9
        )
