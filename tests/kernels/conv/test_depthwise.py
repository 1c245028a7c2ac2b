"""Convolutions with a kernel for each channel against sums in float64."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.kernels import conv
from wengert.kernels.conv import depthwise
from wengert.kernels.conv.depthwise import Depthwise
from wengert.kernels.conv.route import Direction, Problem
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.reduction.native import DEEP

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

BOUND, BOUND_OF_WEIGHTS = 1e-6, 2e-6


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def geometry(stride: int, padding: Any, channels: int) -> Geometry:
    return Geometry((stride, stride), padding, (1, 1), channels)


def problem_of(x: tuple[int, ...], weight: tuple[int, ...], where: Geometry) -> Problem:
    out = where.out_size(x[2:], weight[2:])
    return Problem(x, weight, out, where, True, get_threads(), "off")


def close(found: np.ndarray, expected: np.ndarray, bound: float) -> None:
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0) <= bound * np.abs(expected).max(initial=1)


def check(shape: tuple[int, int, int, int], k: int, stride: int, padding: Any) -> None:
    """All three maps."""
    channels, where = shape[1], geometry(stride, padding, shape[1])
    x, weight, bias = floats(*shape), floats(channels, 1, k, k), floats(2 * channels)[::2]
    x64, weight64 = x.astype(np.float64), weight.astype(np.float64)
    more = bias[:, None, None].astype(np.float64)
    problem = problem_of(shape, weight.shape, where)
    route, expected = Depthwise(problem), conv.forward(x64, weight64, where)
    close(route.forward(x, weight), expected, BOUND)
    close(route.forward(x, weight, bias), expected + more, BOUND)
    g = floats(*expected.shape)
    g64 = g.astype(np.float64)
    close(route.grad_weight(g, x), conv.grad_weight(g64, x64, (k, k), where), BOUND_OF_WEIGHTS)
    fits = Depthwise.fits(problem, "grad_input")
    assert fits == (stride == 2 or max(map(max, padding)) < k)
    if fits:
        back = route.grad_input(g, weight, bias)
        close(back, conv.grad_input(g64, weight64, shape[2:], where) + more, BOUND)


SHAPES = [(1, 1, 7, 7), (2, 3, 8, 5), (3, 5, 30, 33), (1, 2, 9, 130), (2, 2, 101, 12)]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("k", [3, 5, 7])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_like_sums_in_float64(shape: tuple[int, int, int, int], k: int, stride: int) -> None:
    check(shape, k, stride, ((k // 2, k // 2), (k // 2, k // 2)))


PADDINGS = list(product([(0, 0), (0, 2), (1, 0), (3, 2)], repeat=2))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", PADDINGS, ids=str)
def test_each_padding(padding: Any, stride: int) -> None:
    check((2, 3, 8, 11), 3, stride, padding)


@given(
    shape=st.tuples(*[st.integers(1, n) for n in (3, 4, 40, 60)]),
    k=st.sampled_from([3, 5, 7]),
    stride=st.integers(1, 2),
    padding=st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 4))] * 2),
)
@settings(max_examples=60, deadline=None)
def test_any_size(shape: Any, k: int, stride: int, padding: Any) -> None:
    if all(n + sum(p) >= k for n, p in zip(shape[2:], padding, strict=True)):
        check(shape, k, stride, padding)


def test_rows_behind_the_last_window_get_nothing() -> None:
    where = geometry(2, ((0, 0), (0, 0)), 2)
    route = Depthwise(problem_of((1, 2, 8, 9), (2, 1, 3, 3), where)._replace(out=(3, 3)))
    back = route.grad_input(floats(1, 2, 3, 3), floats(2, 1, 3, 3))
    assert not back[:, :, 7:].any()
    assert not back[:, :, :, 7:].any()


@pytest.mark.parametrize("change", ["groups", "dilation", "kernel", "stride", "one dimension"])
def test_what_it_is_not_for(change: str) -> None:
    x, weight, where = floats(1, 4, 9, 9), floats(4, 1, 3, 3), geometry(1, ((0, 0), (0, 0)), 4)
    if change == "groups":
        weight, where = floats(4, 2, 3, 3), where._replace(groups=2)
    elif change == "dilation":
        where = where._replace(dilation=(1, 2))
    elif change == "kernel":
        weight = floats(4, 1, 3, 5)
    elif change == "stride":
        where = where._replace(stride=(1, 2))
    else:
        x, weight = floats(1, 4, 9), floats(4, 1, 3)
        where = Geometry((1,), ((0, 0),), (1,), 4)
    problem = problem_of(x.shape, weight.shape, where)
    directions: tuple[Direction, ...] = ("forward", "grad_input", "grad_weight")
    assert not any(Depthwise.fits(problem, direction) for direction in directions)
    found = conv.forward(x, weight, where)
    expected = conv.forward(x.astype(np.float64), weight.astype(np.float64), where)
    close(found, expected, BOUND)


@pytest.mark.parametrize("stride", [1, 2])
def test_results_do_not_depend_on_the_number_of_threads(stride: int) -> None:
    where = geometry(stride, ((1, 1), (1, 1)), 40)
    x, weight, before = floats(4, 40, 40, 40), floats(40, 1, 3, 3), get_threads()
    g = floats(4, 40, *where.out_size((40, 40), (3, 3)))
    found = []
    try:
        for threads in (1, 3):
            set_threads(threads)
            route = Depthwise(problem_of(x.shape, weight.shape, where))
            found.append(
                (route.forward(x, weight), route.grad_input(g, weight), route.grad_weight(g, x))
            )
    finally:
        set_threads(before)
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)


@pytest.mark.parametrize("stride", [1, 2])
def test_nan_and_infinity_stay_in_their_windows(stride: int) -> None:
    where = geometry(stride, ((1, 1), (1, 1)), 3)
    x, weight = floats(2, 3, 20, 21), floats(3, 1, 3, 3)
    x[0, 1, 9, 10], x[1, 2, 0, 20], x[1, 0, 19, 0] = np.nan, np.inf, -np.inf
    route = Depthwise(problem_of(x.shape, weight.shape, where))
    found = route.forward(x, weight)
    expected = conv.forward(x.astype(np.float64), weight.astype(np.float64), where)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    g = floats(2, 3, *route.problem.out)
    g[0, 0, 3, 4] = np.nan
    found = route.grad_input(g, weight)
    expected = conv.grad_input(g.astype(np.float64), weight.astype(np.float64), (20, 21), where)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_within_bounds_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel in (depthwise._convolve, depthwise._spread, depthwise._correlate):

        def run(*arguments: Any, python: Any = kernel.python) -> None:
            flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in arguments[:-2]]
            python(*flat, 0, arguments[-2])

        monkeypatch.setattr(kernel, "f32", run)
    for stride, (k, shape) in product((1, 2), ((3, (1, 2, 6, 7)), (5, (2, 1, 9, 20)))):
        check(shape, k, stride, ((1, 2), (2, 0)))


GUARDED = """
import numpy as np
from tests.kernels.guarded import copied, guarded
from wengert.kernels.conv import depthwise
from wengert.kernels.conv.route import Problem
from wengert.kernels.geometry import Geometry

class Guarded:
    def __getattr__(self, name):
        return getattr(np, name)
    def empty(self, shape, dtype):
        return guarded(shape, dtype, at_end)

depthwise.np = Guarded()
for at_end in (True, False):
    for stride in (1, 2):
        for k, low, high, wide in ((3, 1, 1, 1), (3, 0, 8, 9), (5, 2, 40, 64), (7, 3, 7, 23)):
            where = Geometry((stride, stride), ((low, 2), (low, 2)), (1, 1), 3)
            x = copied(np.ones((2, 3, high, wide), np.float32), at_end)
            weight = copied(np.ones((3, 1, k, k), np.float32), at_end)
            out = where.out_size((high, wide), (k, k))
            route = depthwise.Depthwise(Problem(x.shape, weight.shape, out, where, True, 2, "off"))
            g = route.forward(x, weight)
            route.grad_weight(g, x)
            route.grad_input(g, weight)
print("done")
"""


def test_memory_next_to_arrays_is_not_touched() -> None:
    found = subprocess.run(
        [sys.executable, "-c", GUARDED], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.stdout == "done\n", found.stderr


def test_small_planes_are_summed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over samples, few of which are in float32, whatever their number."""
    for samples in (1, 8, 9, 33):
        for together in (1, DEEP):
            monkeypatch.setattr(depthwise, "DEEP", together)
            check((samples, 3, 7, 5), 3, 1, ((1, 1), (1, 1)))
            check((samples, 3, 9, 18), 5, 2, ((2, 2), (2, 2)))
    monkeypatch.undo()
    assert depthwise._together((7, 7)) == DEEP // 7
    assert depthwise._together((300, 300)) == 1
