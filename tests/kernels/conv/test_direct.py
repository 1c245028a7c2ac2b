"""The compiled convolutions against NumPy's path, which float64 takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.kernels import conv
from wengert.kernels.conv import batched as conv_batched
from wengert.kernels.conv import direct as conv_direct
from wengert.kernels.conv import plan as conv_plan
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads, set_threads

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


class Case(NamedTuple):
    """A convolution by its sizes; channels are those of a group."""

    batch: int
    channels: int
    size: tuple[int, ...]
    outs: int
    kernel: tuple[int, ...]
    geometry: Geometry

    @property
    def out(self) -> tuple[int, ...]:
        return self.geometry.out_size(self.size, self.kernel)

    def arrays(self, draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Input, weight, gradient of the output, bias; `draw` gives numbers of a shape."""
        groups = self.geometry.groups
        x = draw((self.batch, self.channels * groups, *self.size))
        weight = draw((self.outs * groups, self.channels, *self.kernel))
        g = draw((self.batch, self.outs * groups, *self.out))
        return x, weight, g, draw((self.outs * groups,))


def _case(
    batch: int, channels: int, size: tuple[int, ...], outs: int, kernel: tuple[int, ...],
    stride: int = 1, padding: tuple[int, int] = (0, 0), dilation: int = 1, groups: int = 1,
) -> Case:  # fmt: skip
    n = len(size)
    geometry = Geometry((stride,) * n, (padding,) * n, (dilation,) * n, groups)
    return Case(batch, channels, size, outs, kernel, geometry)


def _integers(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers whose sums of products float32 holds exactly."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


def _floats(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _compiled(
    case: Case, x: Any, weight: Any, g: Any, bias: Any, way: Any = conv_direct
) -> Iterator[np.ndarray]:
    yield way.convolve(x, weight, case.out, case.geometry, bias)
    yield way.spread(g, weight, case.size, case.geometry)
    yield way.correlate(g, x, case.kernel, case.geometry)


def _numpy(case: Case, x: Any, weight: Any, g: Any, bias: Any) -> Iterator[np.ndarray]:
    yield conv.convolve(x, weight, case.geometry, bias)
    yield conv.spread(g, weight, case.size, case.geometry)
    yield conv.correlate(g, x, case.kernel, case.geometry)


def _check(case: Case, way: Any = conv_direct) -> None:
    arrays = case.arrays(_integers)
    wide = [a.astype(np.float64) for a in arrays]
    for got, expected in zip(_compiled(case, *arrays, way), _numpy(case, *wide), strict=True):
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, expected)


CASES = [
    _case(1, 1, (1, 1), 1, (1, 1)),
    _case(2, 3, (9, 7), 5, (3, 3), padding=(1, 1)),
    _case(3, 1, (28, 28), 32, (3, 3), padding=(1, 1)),
    _case(64, 16, (8, 8), 32, (3, 3), padding=(1, 1)),
    _case(9, 5, (4, 4), 6, (3, 3), padding=(1, 1)),
    _case(2, 7, (13, 11), 9, (5, 4), padding=(2, 0)),
    _case(2, 7, (13, 11), 9, (5, 4), padding=(0, 3)),
    _case(5, 4, (16, 16), 8, (4, 4), stride=2, padding=(1, 1)),
    _case(2, 3, (15, 17), 6, (4, 4), stride=2, padding=(1, 1)),
    _case(2, 3, (14, 17), 6, (3, 2), stride=3, padding=(2, 1)),
    _case(2, 3, (17, 10), 6, (1, 1), stride=2),
    _case(2, 3, (17, 10), 6, (2, 1), stride=4),
    _case(2, 2, (19, 23), 3, (3, 3), padding=(4, 4), dilation=3),
    _case(2, 2, (19, 23), 3, (3, 3), stride=2, padding=(3, 2), dilation=2),
    _case(2, 3, (12, 12), 5, (3, 3), padding=(1, 1), groups=3),
    _case(2, 1, (12, 12), 1, (3, 3), stride=2, padding=(1, 1), groups=6),
    _case(1, 130, (20, 21), 11, (3, 3), padding=(1, 1)),
    _case(1, 3, (120, 75), 4, (7, 7), stride=2, padding=(3, 3)),
    _case(2, 3, (1, 3001), 5, (1, 9), padding=(4, 4)),
    _case(3, 6, (2000,), 7, (5,), stride=2, padding=(2, 2)),
    _case(3, 6, (1999,), 7, (3,), stride=3, padding=(0, 1)),
    _case(4, 2, (50,), 3, (4,), dilation=5, padding=(8, 8)),
    _case(2, 3, (7, 8, 9), 4, (3, 3, 3), padding=(1, 1)),
    _case(2, 3, (7, 8, 9), 4, (2, 3, 4), stride=2, padding=(1, 2)),
    _case(1, 40, (6, 20, 30), 5, (3, 3, 3), padding=(1, 1)),
    _case(1, 8, (3, 60, 70), 5, (3, 2, 3), stride=2, padding=(1, 1)),
]


WAYS = (conv_direct, conv_batched)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(tuple(case)[:5]))
def test_integers_are_exact(case: Case) -> None:
    _check(case, conv_direct)


SMALL = [case for case in CASES if prod(case.size) <= 4000]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: str(tuple(case)[:5]))
def test_integers_are_exact_side_by_side(case: Case) -> None:
    _check(case, conv_batched)


@st.composite
def _cases(draw: Any) -> Case:
    rank = draw(st.integers(1, 3))
    most = {1: 70, 2: 20, 3: 7}[rank]

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    padding = tuple(zip(each(0, 3), each(0, 3), strict=True))
    geometry = Geometry(each(1, 3), padding, each(1, 3), draw(st.integers(1, 3)))
    size, kernel = each(1, most), each(1, 4)
    batch, channels, outs = (draw(st.integers(1, most)) for most in (40, 9, 9))
    return Case(batch, channels, size, outs, kernel, geometry)


@settings(max_examples=60, deadline=None)
@given(case=_cases())
def test_any_sizes(case: Case) -> None:
    if min(case.out) > 0:
        for way in WAYS:
            _check(case, way)


@pytest.mark.parametrize("channels", [1, 2, 5, 100])
def test_large_inputs_are_cut_along_each_axis(channels: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(conv_plan, "_INPUT", 1 << 10)
    monkeypatch.setattr(conv_plan, "_DOTS_INPUT", 1 << 10)
    monkeypatch.setattr(conv_plan, "_SHORTEST", 16)
    monkeypatch.setattr(conv_plan, "_CHUNK", 1 << 8)
    monkeypatch.setattr(conv_plan, "_INNER", 2)
    for plan in (conv_plan.window_plan, conv_plan.adjoint_plan):
        plan.cache_clear()
    for size in ((23, 9), (5, 190), (3, 5, 40), (401,)):
        for stride in (1, 2):
            _check(_case(3, channels, size, 6, (3,) * len(size), stride, (1, 2)))
    for plan in (conv_plan.window_plan, conv_plan.adjoint_plan):
        plan.cache_clear()


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    before = get_threads()
    try:
        for way, case in (
            (conv_direct, _case(8, 16, (30, 30), 24, (3, 3), padding=(1, 1))),
            (conv_batched, _case(70, 40, (6, 7), 48, (3, 3), padding=(1, 1))),
        ):
            arrays = case.arrays(_floats)
            set_threads(1)
            alone = list(_compiled(case, *arrays, way))
            set_threads(3)
            for _ in range(5):
                for one, several in zip(alone, _compiled(case, *arrays, way), strict=True):
                    np.testing.assert_array_equal(one, several)
    finally:
        set_threads(before)


def test_rounding_stays_within_the_bound_for_sums() -> None:
    case = _case(4, 32, (17, 19), 40, (3, 3), padding=(1, 1))
    arrays = case.arrays(_floats)
    wide = [a.astype(np.float64) for a in arrays]
    positive = [np.abs(a) for a in wide]
    lengths = (32 * 9 + 1, 40 * 9, 4 * 17 * 19)
    ways = (_compiled(case, *arrays), _numpy(case, *wide), _numpy(case, *positive))
    for length, got, expected, bound in zip(lengths, *ways, strict=True):
        # Errors are about as many half units as the root of the number of terms.
        assert (np.abs(got - expected) <= 2.0**-24 * 2 * length**0.5 * bound).all()


def test_nan_and_infinity_reach_what_they_meet_and_nothing_else() -> None:
    for case in (
        _case(2, 3, (9, 8), 5, (3, 3), padding=(1, 1)),
        _case(2, 3, (9, 8), 5, (3, 3), stride=2, padding=(1, 0)),
    ):
        x, weight, g, bias = case.arrays(_floats)
        x[0, 1, 0, 0], x[1, 2, 8, 7], g[0, 0, 0, 3], g[1, 4, 3, 0] = np.nan, np.inf, np.nan, -np.inf
        wide = [a.astype(np.float64) for a in (x, weight, g, bias)]
        for way in WAYS:
            found = zip(_compiled(case, x, weight, g, bias, way), _numpy(case, *wide), strict=True)
            for got, expected in list(found)[:2]:
                np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected))


def test_layouts_that_are_not_contiguous() -> None:
    case = _case(2, 4, (9, 8), 6, (3, 3), padding=(1, 1))
    x, weight, g, bias = case.arrays(_integers)
    odd = [np.moveaxis(np.moveaxis(a, 1, -1).copy(), -1, 1) for a in (x, weight, g)]
    assert not odd[0].flags.c_contiguous
    odd.append(np.repeat(bias, 2)[::2])
    for way in WAYS:
        ways = (_compiled(case, x, weight, g, bias, way), _compiled(case, *odd, way))
        for got, expected in zip(*ways, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_many_small_images_go_side_by_side() -> None:
    one = Geometry((1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    assert conv_batched.fits((64, 32, 4, 4), (64, 32, 3, 3), (4, 4), one)
    assert not conv_batched.fits((2, 32, 4, 4), (64, 32, 3, 3), (4, 4), one)
    assert not conv_batched.fits((64, 32, 28, 28), (64, 32, 3, 3), (28, 28), one)


@pytest.mark.parametrize("channels", [3, 12])
@pytest.mark.parametrize("groups", [1, 2])
def test_windows_of_one_element(channels: int, groups: int) -> None:
    case = _case(5, channels, (9, 8), 16, (1, 1), groups=groups)
    x, weight, g, bias = case.arrays(_integers)
    wide = [a.astype(np.float64) for a in (x, weight, g, bias)]
    found = _numpy(case, x, weight, g, bias)
    for got, expected in zip(found, _numpy(case, *wide), strict=True):
        np.testing.assert_array_equal(got, expected)
    shift = np.arange(channels * groups, dtype=np.float32)
    plain, biased = (conv.spread(g, weight, case.size, case.geometry, b) for b in (None, shift))
    np.testing.assert_array_equal(biased, plain + shift.reshape(-1, 1, 1))


def test_small_arrays_and_other_dtypes_take_the_path_of_numpy(monkeypatch: Any) -> None:
    monkeypatch.setattr(conv, "available", lambda: True)
    small, large = _case(1, 1, (4, 4), 1, (3, 3)), _case(2, 8, (9, 9), 8, (3, 3))
    monkeypatch.setattr(conv_direct, "convolve", lambda *_: "compiled")
    x, weight, _, _ = large.arrays(_floats)
    assert conv.convolve(x, weight, large.geometry) == "compiled"
    for dtype in (np.float64, np.complex64):
        out = conv.convolve(x.astype(dtype), weight.astype(dtype), large.geometry)
        assert out.dtype == dtype
    x, weight, _, _ = small.arrays(_floats)
    assert conv.convolve(x, weight, small.geometry).shape == (1, 1, 2, 2)
    monkeypatch.setattr(conv, "available", lambda: False)
    x, weight, _, _ = large.arrays(_floats)
    assert conv.convolve(x, weight, large.geometry).dtype == np.float32


def test_as_python_runs_it_every_access_is_in_bounds(monkeypatch: Any) -> None:
    kernels = [(w, k) for w in WAYS for k in ("_sums", "_inner_products")]
    for way, kernel in [*kernels, (conv_direct, "_pack")]:
        python = getattr(way, kernel).python

        class Kernel:
            f32 = staticmethod(
                lambda *a, run=python: run(
                    *(x.reshape(-1) if isinstance(x, np.ndarray) else x for x in a[:-2]), 0, a[-2]
                )
            )

        monkeypatch.setattr(way, kernel, Kernel)
    for case in (
        _case(2, 2, (4, 5), 5, (3, 2), padding=(1, 1)),
        _case(1, 2, (5, 5), 2, (2, 2), stride=2, padding=(0, 1), groups=2),
        _case(1, 1, (2, 3, 3), 1, (2, 2, 1), stride=2, padding=(1, 0)),
    ):
        for way in WAYS:
            _check(case, way)


_GUARDED = f"""
import ctypes, mmap, sys
import numpy as np

sys.path.insert(0, {str(Path(__file__).parent)!r})
sys.argv = [""]
import test_conv
from wengert.kernels.jit import set_threads

protect = ctypes.CDLL(None, use_errno=True).mprotect
protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page, empty, kept = mmap.PAGESIZE, np.empty, []


def guarded(shape, dtype=np.float64):
    '''An array that ends, or starts, where the next page may not be touched.'''
    dtype, shape = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
    size = int(np.prod(shape)) * dtype.itemsize
    whole = -(-max(size, 1) // page) * page
    memory = mmap.mmap(-1, whole + 2 * page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for wall in (base, base + page + whole):
        assert protect(wall, page, 0) == 0
    first = page if low else page + whole - size
    kept.append((memory, base, whole))
    out = np.frombuffer(memory, np.uint8, size, first).view(dtype).reshape(shape)
    out.view(np.uint8)[...] = 255  # NaN
    return out


def copied(a):
    out = guarded(a.shape, a.dtype)
    out[...] = a
    return out


set_threads(1)
for low in (False, True):
    for case in test_conv.CASES:
        arrays = [copied(a) for a in case.arrays(test_conv._integers)]
        wide = [a.astype(np.float64) for a in arrays]
        for way in test_conv.WAYS[: 1 + (case in test_conv.SMALL)]:
            np.empty = guarded
            found = list(test_conv._compiled(case, *arrays, way))
            np.empty = empty
            for got, expected in zip(found, test_conv._numpy(case, *wide)):
                np.testing.assert_array_equal(got, expected)
        del arrays, found, got
        for memory, base, whole in kept:
            for wall in (base, base + page + whole):
                protect(wall, page, 3)
        kept.clear()
print("in bounds", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
def test_no_memory_beside_the_arrays_is_touched() -> None:
    run = subprocess.run([sys.executable, "-c", _GUARDED], capture_output=True, text=True)
    assert run.stdout == "in bounds\n", (run.returncode, run.stderr[-2000:])
