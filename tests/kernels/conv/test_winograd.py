"""Winograd's convolutions against plain sums in float64."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.kernels import calling, conv
from wengert.kernels.calling import at_once
from wengert.kernels.conv import winograd, winograd_transforms
from wengert.kernels.conv.route import Problem, WinogradSetting
from wengert.kernels.conv.winograd import tile_size
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads, set_threads

needs_jit = pytest.mark.skipif(not available(), reason="needs llvmlite")

# The largest errors, as parts of the largest output.
BOUND = {2: 1e-6, 4: 6e-6}
BOUND_OF_WEIGHTS = {2: 1e-6, 4: 2.5e-6}
Padding = tuple[tuple[int, int], ...]
EVEN: Padding = ((1, 1), (1, 1))


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def geometry(padding: Padding) -> Geometry:
    return Geometry((1, 1), padding, (1, 1))


def problem_of(x: np.ndarray, outputs: int, padding: Padding) -> Problem:
    where, weight = geometry(padding), (outputs, x.shape[1], 3, 3)
    out = where.out_size(x.shape[2:], (3, 3))
    return Problem(x.shape, weight, out, where, True, get_threads(), "auto")


def tiled_convolution(
    x: np.ndarray, weight: np.ndarray, padding: Padding, m: int, bias: np.ndarray | None = None,
    mirrored: bool = False,
) -> np.ndarray:  # fmt: skip
    problem = problem_of(x, weight.shape[1 if mirrored else 0], padding)
    plan = winograd.output_plan(problem, m, mirrored)
    out = np.empty((len(x), problem.weight[0], *problem.out), np.float32)
    dense = None if bias is None else bias.copy()
    winograd.tile_outputs(at_once, x, weight, dense, out, plan)
    return out


def tiled_correlation(g: np.ndarray, x: np.ndarray, padding: Padding, m: int) -> np.ndarray:
    problem = problem_of(x, g.shape[1], padding)
    out = np.empty(problem.weight, np.float32)
    winograd.tile_weights(at_once, g, x, out, winograd.weight_plan(problem, m))
    return out


def error(found: np.ndarray, expected: np.ndarray) -> float:
    assert found.shape == expected.shape
    assert found.dtype == np.float32
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def check(sizes: tuple[int, int, int, int, int], padding: Padding, m: int) -> None:
    """All three maps of a convolution: (samples, channels, outputs, high, wide)."""
    samples, channels, outputs, high, wide = sizes
    x, weight = floats(samples, channels, high, wide), floats(outputs, channels, 3, 3)
    x64, weight64 = x.astype(np.float64), weight.astype(np.float64)
    where = geometry(padding)
    expected = conv.forward(x64, weight64, where)
    assert error(tiled_convolution(x, weight, padding, m), expected) < BOUND[m]
    g = floats(*expected.shape)
    expected = conv.grad_weight(g.astype(np.float64), x64, (3, 3), where)
    assert error(tiled_correlation(g, x, padding, m), expected) < BOUND_OF_WEIGHTS[m]
    ((top, bottom), (left, right)) = padding
    adjoint: Padding = ((2 - top, 2 - bottom), (2 - left, 2 - right))
    expected = conv.grad_input(g.astype(np.float64), weight64, (high, wide), where)
    assert error(tiled_convolution(g, weight, adjoint, m, mirrored=True), expected) < BOUND[m]


PADDINGS = list(product([(0, 0), (0, 1), (2, 0), (2, 2)], repeat=2))
SIZES = [
    (1, 1, 1, 1, 1),
    (1, 8, 8, 8, 8),
    (2, 3, 5, 9, 7),
    (3, 17, 9, 1, 5),
    (1, 5, 33, 6, 250),
    (2, 300, 7, 14, 14),
    (5, 20, 130, 7, 7),
    (1, 2, 70, 70, 3),
    (2, 70, 17, 50, 30),
]


@needs_jit
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_like_plain_sums(sizes: tuple[int, int, int, int, int], m: int) -> None:
    check(sizes, EVEN, m)


@needs_jit
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("padding", PADDINGS, ids=str)
def test_each_padding(padding: Padding, m: int) -> None:
    check((2, 3, 4, 8, 5), padding, m)


@needs_jit
@given(
    sizes=st.tuples(*[st.integers(1, n) for n in (3, 20, 20, 30, 40)]),
    padding=st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2),
    m=st.sampled_from([2, 4]),
)
@settings(max_examples=40, deadline=None)
def test_any_size(sizes: Any, padding: Any, m: int) -> None:
    # With one output, or a few, nothing says how large an output could have been.
    if all(n + sum(p) >= 6 for n, p in zip(sizes[3:], padding, strict=True)):
        check(sizes, padding, m)


@needs_jit
@pytest.mark.parametrize("m", [2, 4])
def test_results_do_not_depend_on_the_number_of_threads(m: int) -> None:
    x, weight, before = floats(4, 20, 30, 30), floats(24, 20, 3, 3), get_threads()
    g = floats(4, 24, 30, 30)
    found = []
    try:
        for threads in (1, 3):
            set_threads(threads)
            found.append((tiled_convolution(x, weight, EVEN, m), tiled_correlation(g, x, EVEN, m)))
    finally:
        set_threads(before)
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)


@needs_jit
@pytest.mark.parametrize("m", [2, 4])
def test_transforms_read_no_memory_as_it_was_found(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subnormal numbers in it would make them ten times as slow on some processors."""
    found: list[np.ndarray] = []

    def empty(*arguments: Any) -> np.ndarray:
        array = np.empty(*arguments)
        array.fill(np.float32(1e-40))
        found.append(array)
        return array

    monkeypatch.setattr(calling, "np", SimpleNamespace(**vars(np) | {"empty": empty}))
    x, weight, g = floats(1, 20, 28, 28), floats(24, 20, 3, 3), floats(1, 24, 28, 28)
    for run in (
        lambda: tiled_convolution(x, weight, EVEN, m),
        lambda: tiled_correlation(g, x, EVEN, m),
    ):
        found.clear()
        run()
        scratch = [a for a in found if a.ndim == 1 and len(a) % get_threads() == 0]
        ends = [a.reshape(get_threads(), -1)[:, -3 * m * winograd.lanes() :] for a in scratch]
        assert any((end != np.float32(1e-40)).all() for end in ends)


@needs_jit
@pytest.mark.parametrize("m", [2, 4])
def test_nan_stays_in_the_tiles_that_read_it(m: int) -> None:
    x, weight = floats(2, 4, 24, 24), floats(4, 4, 3, 3)
    whole = tiled_convolution(x, weight, EVEN, m)
    x[0, 1, 9, 10], x[1, 2, 0, 23] = np.nan, np.inf
    found = tiled_convolution(x, weight, EVEN, m)
    near = np.zeros((2, 24, 24), bool)
    for sample, line, column in ((0, 9, 10), (1, 0, 23)):
        rows, columns = (
            slice(max(0, (n - 1) // m * m), ((n + 1) // m + 1) * m) for n in (line, column)
        )
        near[sample, rows, columns] = True
    seen = np.broadcast_to(near[:, None], found.shape)
    np.testing.assert_array_equal(found[~seen], whole[~seen])
    plain = conv.forward(x, weight, geometry(EVEN))
    assert not np.isfinite(found[~np.isfinite(plain)]).any()


@needs_jit
def test_within_bounds_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel in (
        winograd._weights, winograd._convolve, winograd._tiles, winograd._inner_products,
        winograd._weight_sums,
    ):  # fmt: skip

        def run(*arguments: Any, python: Any = kernel.python) -> None:
            flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in arguments[:-2]]
            python(*flat, 0, arguments[-2])

        monkeypatch.setattr(kernel, "f32", run)
    for m in (2, 4):
        check((1, 2, 5, 6, 7), ((0, 1), (2, 1)), m)


GUARDED = """
import numpy as np
from tests.kernels.conv.test_winograd import tiled_convolution, tiled_correlation
from tests.kernels.guarded import copied, guarded
from wengert.kernels.conv import winograd

class Guarded:
    def __getattr__(self, name):
        return getattr(np, name)
    def empty(self, shape, dtype):
        return guarded(shape, dtype, at_end)

winograd.np = Guarded()
for at_end in (True, False):
    for m in (2, 4):
        for sizes in ((1, 1, 1, 1, 1), (2, 3, 5, 7, 9), (1, 6, 9, 33, 16)):
            samples, channels, outputs, high, wide = sizes
            for low in (0, 1, 2):
                padding = ((low, 2), (low, 2))
                x = copied(np.ones((samples, channels, high, wide), np.float32), at_end)
                weight = copied(np.ones((outputs, channels, 3, 3), np.float32), at_end)
                g = tiled_convolution(x, weight, padding, m)
                tiled_correlation(g, x, padding, m)
                padding = ((2 - low, 0), (2 - low, 0))
                tiled_convolution(g, weight, padding, m, mirrored=True)
print("done")
"""


@needs_jit
def test_memory_next_to_arrays_is_not_touched() -> None:
    found = subprocess.run(
        [sys.executable, "-c", GUARDED], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.stdout == "done\n", found.stderr


@pytest.mark.parametrize("sizes", [(2, 3), (4, 3), (3, 2), (3, 4)], ids=str)
def test_matrices_are_exact(sizes: tuple[int, int]) -> None:
    outputs, taps = sizes
    maps = winograd_transforms.maps(outputs, taps)
    for i, j, a in product(range(outputs), range(taps), range(outputs + taps - 1)):
        factor = sum(
            (
                maps.outputs[i][k] * maps.taps[k][j] * maps.values[k][a]
                for k in range(len(maps.taps))
            ),
            Fraction(0),
        )
        assert factor == (a == i + j)


@needs_jit
def test_tiles_are_for_many_channels() -> None:
    for asked, m in {"off": 0, "f2": 2, "f4": 4, "auto": 2}.items():
        assert tile_size(16, 64, 64, (32, 32), False, asked) == m
        assert tile_size(16, 3, 8, (32, 32), False, asked) == 0
    assert tile_size(16, 64, 64, (32, 32), True, "auto") == 4


@pytest.fixture
def setting() -> Any:
    before = WinogradSetting.choice
    yield WinogradSetting
    WinogradSetting.choice = before


@needs_jit
@pytest.mark.parametrize("m", [2, 4])
def test_convolutions_take_what_is_asked_for(m: int, setting: Any) -> None:
    x, weight, bias = floats(4, 96, 24, 24), floats(80, 96, 3, 3), floats(160)[::2]
    g, where = floats(4, 80, 24, 24), geometry(EVEN)
    setting.choice = "off"
    plain = [
        conv.forward(x, weight, where, bias),
        conv.grad_input(g, weight, (24, 24), where),
        conv.grad_weight(g, x, (3, 3), where),
    ]
    setting.choice = f"f{m}"
    tiled = [
        conv.forward(x[:, :, ::-1, ::-1][:, :, ::-1, ::-1], weight, where, bias),
        conv.grad_input(g, weight, (24, 24), where),
        conv.grad_weight(g, x, (3, 3), where),
    ]
    expected = [
        tiled_convolution(x, weight, EVEN, m, bias),
        tiled_convolution(g, weight, EVEN, m, mirrored=True),
        tiled_correlation(g, x, EVEN, m),
    ]
    for found, other, same in zip(tiled, plain, expected, strict=True):
        np.testing.assert_array_equal(found, same)
        assert 0 < error(found, other) < 2 * BOUND[m]  # both have errors
