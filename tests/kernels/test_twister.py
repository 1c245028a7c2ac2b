"""The compiled Mersenne Twister makes the words that NumPy's makes, and leaves its state."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert import _random
from wengert.kernels import _jit, twister

pytestmark = pytest.mark.skipif(not _jit.available(), reason="needs llvmlite")


@pytest.mark.parametrize("skipped", [0, 1, 623, 624, 625, 1000])
@pytest.mark.parametrize("size", [1, 2, 623, 624, 625, 5001])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_words_and_what_follows(skipped: int, size: int, dtype: type) -> None:
    ours, theirs = np.random.MT19937(7), np.random.MT19937(7)
    ours.random_raw(skipped), theirs.random_raw(skipped)
    found = np.empty(size, dtype)
    assert twister.fill(ours, found)
    words = theirs.random_raw(size * found.itemsize // 4).astype(np.uint64)
    if dtype is np.uint64:
        words = words[::2] << np.uint64(32) | words[1::2]
    np.testing.assert_array_equal(found, words.astype(dtype))
    np.testing.assert_array_equal(ours.random_raw(700), theirs.random_raw(700))


def test_large_draws_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 2 * _random._MANY + 3
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    a.random32(5), b.random32(5)
    found = a.random32(size), a.random64(size), a.bernoulli((size,), 0.3), a.random32(9)
    monkeypatch.setattr(wengert.Generator, "filler", None)
    expected = b.random32(size), b.random64(size), b.bernoulli((size,), 0.3), b.random32(9)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.torch
def test_dropout_of_large_tensors_drops_what_torch_drops(torch) -> None:
    found = []
    for library in (wengert, torch):
        library.manual_seed(3)
        x = library.ones(70_001, requires_grad=True)
        y = library.nn.functional.dropout(x, 0.3)
        y.backward(library.ones(70_001))
        found.append((y.detach().numpy(), x.grad.numpy()))
    np.testing.assert_array_equal(*(f[0] for f in found))
    np.testing.assert_array_equal(*(f[1] for f in found))
