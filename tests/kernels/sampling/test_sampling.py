"""Samplers by rejection: the same numbers compiled and in Python, in blocks of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, needs_llvmlite
from wengert.kernels import sampling

SIZE = 700
RNG = np.random.default_rng(0)
SHAPES = 10.0 ** RNG.uniform(-2, 3, SIZE)
SHAPES[:3] = 0.0, 1.0, np.inf
RATES = np.concatenate([RNG.uniform(0, 12, SIZE // 2), 10.0 ** RNG.uniform(1, 9, SIZE // 2)])
RATES[:2] = 0.0, 10.0
COUNTS = RNG.integers(0, 300, SIZE).astype(float)
CHANCES = RNG.uniform(-0.05, 1.05, SIZE)
SAMPLERS: dict[str, Callable[[Any], np.ndarray]] = {
    "gammas": lambda feed: sampling.gammas(feed, SHAPES),
    "gammas of float32": lambda feed: sampling.gammas(feed, SHAPES.astype("f4")),
    "poissons": lambda feed: sampling.poissons(feed, RATES),
    "binomials": lambda feed: sampling.binomials(feed, COUNTS, CHANCES),
}
each_sampler = pytest.mark.parametrize("name", SAMPLERS)


def drawn(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The numbers, and what the generator draws after them: normals, of which half a pair may
    be there, and words."""
    g = wengert.Generator().manual_seed(3)
    g.normal_sequence(1)  # leaves the other half of its pair
    numbers = SAMPLERS[name](g.feed)
    return numbers, g.normal_sequence(3), g.random32(1000)


@needs_llvmlite
@each_sampler
def test_kernels_draw_what_python_does(name: str) -> None:
    compiled = drawn(name)
    with by_numpy(sampling):
        for ours, python in zip(compiled, drawn(name), strict=True):
            np.testing.assert_array_equal(ours, python, strict=True)


@each_sampler
@pytest.mark.parametrize("block", [1, 9, 800])
def test_blocks_of_any_size_give_the_same_stream(
    name: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = drawn(name)
    monkeypatch.setattr(sampling, "_BLOCK", block)
    for ours, other in zip(drawn(name), expected, strict=True):
        np.testing.assert_array_equal(ours, other)


@each_sampler
def test_the_stream_is_the_same_where_the_twister_cannot_be_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = drawn(name)
    monkeypatch.setattr("wengert.core.generators.live_state", lambda bits: None)
    for ours, other in zip(drawn(name), expected, strict=True):
        np.testing.assert_array_equal(ours, other)


def test_numbers_that_are_none_end() -> None:
    """Infinite rates, and counts and chances that are not numbers."""
    g = wengert.Generator().manual_seed(0)
    assert not np.isfinite(sampling.poissons(g.feed, np.full(100, np.inf))).any()
    nan = np.full(100, np.nan)
    for n, p in ((nan, 0.5 + 0 * nan), (np.full(100, 9.0), nan), (nan, np.zeros(100))):
        assert np.isnan(sampling.binomials(g.feed, n, p)).all()
    assert np.isnan(sampling.gammas(g.feed, nan)).all()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_are_pytorchs_bit_by_bit(torch: Any, dtype: str) -> None:
    found = []
    for lib in (wengert, torch):
        lib.manual_seed(1)
        shapes, rates, counts, chances = (
            lib.tensor(x, dtype=getattr(lib, dtype))
            for x in (np.maximum(SHAPES, 1e-3), RATES, COUNTS, np.clip(CHANCES, 0, 1))
        )
        samples = [
            lib.distributions.Gamma(shapes, 1.0).sample(),
            lib.poisson(rates),
            lib.binomial(counts, chances),
            lib.randperm(SIZE),
            lib.get_rng_state(),
        ]
        found.append([s.numpy() for s in samples])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("compiled", [True, False])
def test_categories_are_pytorchs(
    torch: Any, dtype: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr("wengert.kernels.sampling.available", lambda: False)
    weights = np.random.default_rng(0).random((40, 300))
    weights[weights < 0.3] = 0
    for count, replacement, transposed in [(1, False, False), (5, False, False), (50, True, False),
                                           (50, True, True)]:  # fmt: skip
        if count == 5 and dtype == "bfloat16":
            continue  # ties, which topk of PyTorch leaves in any order
        found = []
        for lib in (wengert, torch):
            lib.manual_seed(2)
            x = lib.from_numpy(weights).to(getattr(lib, dtype))
            x = x.t().contiguous().t() if transposed else x
            found.append(lib.multinomial(x, count, replacement).numpy())
            found.append(lib.get_rng_state().numpy())
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("weights", [[[1.0, np.nan]], [[1.0, 2.0], [np.inf, 1.0]], [-1.0, 2.0]])
def test_weights_that_are_no_distribution(weights: list[Any]) -> None:
    with pytest.raises(RuntimeError, match="contains either `inf`, `nan` or element < 0"):
        wengert.multinomial(wengert.tensor(weights), 1)
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        wengert.multinomial(wengert.tensor([[1.0, 2.0], [0.0, 0.0]]), 1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("rows", [1, 40])
def test_faults_of_weights(dtype: str, rows: int) -> None:
    weights = np.random.default_rng(0).uniform(0, 1, (rows, 5)).astype(dtype)
    weights[:, 0] = 0
    assert sampling.faults(weights) == (False, False)
    for value in (np.nan, np.inf, -np.inf, -1):
        wrong = weights.copy()
        wrong[-1, -1] = value
        assert sampling.faults(wrong)[0]
    weights[rows // 2] = 0
    assert sampling.faults(weights) == (False, True)
    assert sampling.faults(weights[rows // 2]) == (False, True)
