"""Copies of matrices that lie transposed."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from tests.kernels.guarded import copied
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.products.packing import side
from wengert.kernels.transposition import in_c_order

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")
rng = np.random.default_rng(0)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("at_end", [False, True])
def test_copies(lead: tuple[int, ...], at_end: bool) -> None:
    n, before = side(), get_threads()
    for rows in (1, n - 1, n, 2 * n + 1, 16 * n + 3):
        for columns in (2, n, 3 * n - 1, 700):
            source = copied(rng.standard_normal((*lead, columns, rows), dtype=np.float32), at_end)
            array = source.swapaxes(-1, -2)
            for threads in (1, 3):
                set_threads(threads)
                out = in_c_order(array)
                assert out.flags.c_contiguous
                np.testing.assert_array_equal(out, array)
    set_threads(before)


@pytest.mark.parametrize(
    "array",
    [
        np.ones((40, 50), np.float32),
        np.ones((40, 50), np.float64).T,
        np.ones((40, 50), np.float32)[::2].T,
        np.ones((40, 30, 20), np.float32).transpose(2, 1, 0),
        np.ones((40, 30, 20), np.float32).transpose(1, 0, 2),
        np.ones((0, 50), np.float32).T,
        np.ones(50, np.float32),
    ],
)
def test_whatever_lies_otherwise_stays(array: np.ndarray) -> None:
    assert in_c_order(array) is array


@pytest.mark.parametrize("turn", [lambda x: x.t(), lambda x: x.mT, lambda x: x.permute(1, 0)])
def test_gradients_of_transposed_factors(turn) -> None:  # type: ignore[no-untyped-def]
    """The gradient that comes through the transpose is added to one in C order."""
    wengert.manual_seed(0)
    x = wengert.randn(150, 130, requires_grad=True)
    weight = wengert.randn(150, 150)
    ((x @ turn(x)) * weight).sum().backward()
    assert x.grad is not None
    expected = (weight + weight.T).numpy().astype(np.float64) @ x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=0, atol=2e-4)
    assert x.grad.is_contiguous()
