"""Copies of matrices that lie transposed."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from tests.kernels.guarded import copied, guarded
from wengert.kernels import strides
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.transposition import SIDES, in_c_order, matrices, transpose

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")
rng = np.random.default_rng(0)

DTYPES = ["?", "u1", "i2", "f4", "f8", "c8"]


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return rng.integers(0, 2 if dtype == "?" else 120, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("at_end", [False, True])
def test_copies(dtype: str, lead: tuple[int, ...], at_end: bool) -> None:
    n, before = SIDES[np.dtype(dtype).itemsize], get_threads()
    for rows in (1, n - 1, n, 2 * n + 1, 16 * n + 3):
        for columns in (2, n, 3 * n - 1, 300):
            source = copied(numbers((*lead, columns, rows), dtype), at_end)
            array = source.swapaxes(-1, -2)
            for threads in (1, 3):
                set_threads(threads)
                out = in_c_order(array)
                assert out.flags.c_contiguous or min(rows, columns) < n
                np.testing.assert_array_equal(out, array)
    set_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("at_end", [False, True])
def test_copies_with_gaps(dtype: str, at_end: bool) -> None:
    """Between rows and between matrices, of the source and of the target; nothing else changes."""
    n = SIDES[np.dtype(dtype).itemsize]
    memory = copied(numbers((2, 5, 3 * n + 1, 2 * n + 7), dtype), at_end)
    source = memory[:, 1:4, 1:, 3:-2].swapaxes(-1, -2)
    room = guarded((2, 4, 2 * n + 5, 3 * n + 2), dtype, at_end)
    room[...] = 1
    target = room[:, 1:, 1 : 2 * n + 3, 2:]
    assert matrices(target.itemsize, *[(a.shape, a.strides) for a in (target, source)]) is not None
    expected = room.copy()
    expected[:, 1:, 1 : 2 * n + 3, 2:] = source
    strides.copy(target, source)
    np.testing.assert_array_equal(room, expected)


def test_what_is_read_and_written_in_python() -> None:
    """Where indices are checked."""
    source = numbers((3, 17, 21), "f4")
    found = matrices(4, ((3, 21, 17), (1428, 68, 4)), ((3, 21, 17), (1428, 4, 84)))
    assert found is not None
    out = np.zeros((3, 21, 17), "f4")
    words = [a.reshape(-1).view(np.uint8) for a in (source, out)]
    transpose.python(*words, *found.numbers, 0, found.tasks)
    np.testing.assert_array_equal(out, source.swapaxes(1, 2))


@pytest.mark.parametrize(
    "array",
    [
        np.ones((40, 50), np.float32),
        np.ones((40, 50), np.complex128).T,
        np.ones((40, 50), np.float32)[::2].T[:, ::3],
        np.ones((40, 30, 20), np.float32).transpose(1, 0, 2),
        np.ones((0, 50), np.float32).T,
        np.ones((3, 50), np.float32).T,
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
