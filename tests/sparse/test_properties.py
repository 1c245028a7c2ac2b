"""Any sparsity pattern, with repeated places and none: dense arrays say what is right."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert

Pattern = tuple[tuple[int, ...], np.ndarray, np.ndarray]


@st.composite
def patterns(draw: st.DrawFn, rank: int | None = None) -> Pattern:
    """A shape, places in it, and a value for each."""
    shape = draw(st.lists(st.integers(0, 5), min_size=rank or 1, max_size=rank or 3))
    count = draw(st.integers(0, 12)) if all(shape) else 0
    places = [draw(st.lists(st.integers(0, max(n - 1, 0)), min_size=count, max_size=count))
              for n in shape]  # fmt: skip
    values = draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count))
    return tuple(shape), np.array(places, np.int64).reshape(len(shape), count), np.array(
        values, np.float64
    )  # fmt: skip


def dense(pattern: Pattern) -> np.ndarray:
    shape, places, values = pattern
    out = np.zeros(shape)
    np.add.at(out, tuple(places), values)
    return out


def sparse(pattern: Pattern) -> wengert.Tensor:
    shape, places, values = pattern
    return wengert.sparse_coo_tensor(places, values, shape)


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_to_dense(pattern: Pattern) -> None:
    x, expected = sparse(pattern), dense(pattern)
    np.testing.assert_array_equal(x.to_dense(), expected)
    summed = x.coalesce()
    assert summed.is_coalesced()
    np.testing.assert_array_equal(summed.to_dense(), expected)
    np.testing.assert_array_equal(np.unique(summed.indices().numpy(), axis=1), summed.indices())
    np.testing.assert_array_equal(wengert.tensor(expected).to_sparse().to_dense(), expected)
    np.testing.assert_array_equal((x + x).to_dense(), 2 * expected)
    np.testing.assert_array_equal((x * x).to_dense(), expected**2)
    np.testing.assert_array_equal(x.sum(), expected.sum())
    np.testing.assert_array_equal(x.transpose(0, -1).to_dense(), expected.swapaxes(0, -1))
    for d, n in enumerate(expected.shape):
        np.testing.assert_array_equal(wengert.sparse.sum(x, d).to_dense(), expected.sum(d))
        for k in range(n):
            np.testing.assert_array_equal(x.select(d, k).to_dense(), expected.take(k, d))


@settings(max_examples=60, deadline=None)
@given(patterns(rank=2))
def test_matrices(pattern: Pattern) -> None:
    x, expected = sparse(pattern), dense(pattern)
    right = np.arange(expected.shape[1] * 2.0).reshape(-1, 2)
    for y in (x, x.to_sparse_csr(), x.to_sparse_csc()):
        np.testing.assert_array_equal(y.to_dense(), expected)
        np.testing.assert_array_equal(y @ wengert.tensor(right), expected @ right)
        np.testing.assert_array_equal(y.t().to_dense(), expected.T)
        np.testing.assert_array_equal(y.to_sparse_coo().to_dense(), expected)
    np.testing.assert_array_equal(wengert.sparse.mm(x, x.t()).to_dense(), expected @ expected.T)
    if expected.size:
        blocks = x.to_sparse_bsr(expected.shape)
        np.testing.assert_array_equal(blocks.to_dense(), expected)
