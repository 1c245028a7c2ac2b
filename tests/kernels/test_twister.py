"""The compiled Mersenne Twister makes the words that NumPy's makes, and leaves its state."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert.core import generators
from wengert.kernels import jit, twister

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")


@pytest.mark.parametrize("skipped", [0, 1, 623, 624, 625, 1000])
@pytest.mark.parametrize("size", [1, 2, 623, 624, 625, 5001])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_words_and_what_follows(
    skipped: int, size: int, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = np.random.MT19937(7), np.random.MT19937(7)
    ours.random_raw(skipped), theirs.random_raw(skipped)
    state = generators.live_state(ours)
    assert state is not None
    monkeypatch.setattr(twister, "SOME", 1)
    found = twister.drawn(state, size, dtype)
    assert found is not None
    words = theirs.random_raw(size * found.itemsize // 4).astype(np.uint64)
    if dtype is np.uint64:
        words = words[::2] << np.uint64(32) | words[1::2]
    np.testing.assert_array_equal(found, words.astype(dtype))
    np.testing.assert_array_equal(ours.random_raw(700), theirs.random_raw(700))


@pytest.mark.parametrize("divisor", [1, 2, 3, 10, 65537, 2**24 + 1, 2**27 + 29, 2**28 - 1])
def test_remainders(divisor: int) -> None:
    multiples = np.random.default_rng(0).integers(0, 2**32 // divisor, 500) * divisor
    near = np.concatenate([multiples + k for k in range(-1, 2)]) % 2**32
    words = np.concatenate([near, np.arange(2**32 - 300, 2**32)]).astype(np.uint32)
    found = twister.remainders(words, divisor)
    np.testing.assert_array_equal(found, words.astype(np.int64) % divisor)


def test_large_draws_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 2 * jit.LARGE + 3
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    a.random32(5), b.random32(5)

    def draws(g: wengert.Generator) -> list[np.ndarray]:
        kinds = g.random32, g.random64, g.singles, g.doubles, g.permutation
        return [*(draw(size) for draw in kinds), g.bernoulli((size,), 0.3), g.random32(9)]

    found = draws(a)
    monkeypatch.setattr(wengert.Generator, "drawer", None)
    monkeypatch.setattr(wengert.Generator, "shuffler", None)
    for x, y in zip(found, draws(b), strict=True):
        assert x.dtype == y.dtype
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bounds", [(-1, 1), (2.5, 7.25), (1, 1 + 2**-23)])
def test_other_bounds_are_those_of_numpy(
    dtype: type, bounds: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = a.uniform((3, 100), *bounds, dtype)
    monkeypatch.setattr(wengert.Generator, "stretcher", None)
    np.testing.assert_array_equal(found, b.uniform((3, 100), *bounds, dtype))
    assert (found < bounds[1]).all()


@pytest.mark.parametrize("size", [0, 1, 2, 9, 300])
def test_permutations_are_those_of_python(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = a.permutation(size)
    monkeypatch.setattr(wengert.Generator, "shuffler", None)
    np.testing.assert_array_equal(found, b.permutation(size))
    np.testing.assert_array_equal(a.random32(9), b.random32(9))
