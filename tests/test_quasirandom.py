"""Sobol points: PyTorch's, scrambled or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.quasirandom import SobolEngine

pytestmark = pytest.mark.torch


def engines(torch: Any, *args: Any, **options: Any) -> list[Any]:
    return [t.quasirandom.SobolEngine(*args, **options) for t in (torch, wengert)]


@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 5}])
def test_points(torch: Any, dimension: int, dtype: str, options: dict[str, Any]) -> None:
    expected, engine = engines(torch, dimension, **options)
    for n in (1, 0, 3, 130):
        a = expected.draw(n, dtype=getattr(torch, dtype)).numpy()
        b = engine.draw(n, dtype=getattr(wengert, dtype)).numpy()
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    assert engine.num_generated == expected.num_generated == 134
    assert repr(engine) == repr(expected)


def test_the_last_dimension(torch: Any) -> None:
    a, b = (e.draw(40)[:, -3:].tolist() for e in engines(torch, SobolEngine.MAXDIM))
    assert a == b


def test_scrambled_by_the_generator_of_the_process(torch: Any) -> None:
    points = []
    for t in (torch, wengert):
        t.manual_seed(3)
        points.append(t.quasirandom.SobolEngine(3, scramble=True).draw(6).tolist())
    assert points[0] == points[1]


@pytest.mark.parametrize("scramble", [False, True])
def test_forward_and_back(torch: Any, scramble: bool) -> None:
    points = []
    for engine in engines(torch, 3, scramble, seed=1):
        assert engine.fast_forward(4) is engine
        drawn = [engine.draw(2).tolist(), engine.fast_forward(1).draw(1).tolist()]
        assert engine.reset() is engine
        points.append([*drawn, engine.draw(2).tolist(), engine.fast_forward(2).draw(2).tolist()])
    assert points[0] == points[1]


def test_powers_of_two(torch: Any) -> None:
    for engine in engines(torch, 2):
        assert engine.draw_base2(2).shape == (4, 2)
        assert engine.draw_base2(2).shape == (4, 2)
        with pytest.raises(ValueError, match="require n to be a power of 2"):
            engine.draw_base2(2)


def test_out(torch: Any) -> None:
    for t, engine in zip((torch, wengert), engines(torch, 2), strict=True):
        out = t.empty(0)
        assert engine.draw(3, out=out) is out
        assert out.tolist() == [[0, 0], [0.5, 0.5], [0.75, 0.25]]


@pytest.mark.parametrize("dimension", [0, 21202])
def test_dimensions_without_numbers(torch: Any, dimension: int) -> None:
    for t in (torch, wengert):
        with pytest.raises(ValueError, match="range of dimensionality"):
            t.quasirandom.SobolEngine(dimension)
