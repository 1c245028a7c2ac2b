"""The compiled sums of products against NumPy's path, which float64 takes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.conv.cases import (
    CASES,
    SMALL,
    Case,
    by_route,
    case_of,
    check,
    chosen,
    floats,
    integers,
)
from wengert.kernels.conv import batched, direct, plan
from wengert.kernels.conv.batched import Batched
from wengert.kernels.conv.direct import Direct
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads, set_threads

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


ROUTES = (Direct, Batched)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(tuple(case)[:5]))
def test_integers_are_exact(case: Case) -> None:
    check(case, Direct)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: str(tuple(case)[:5]))
def test_integers_are_exact_side_by_side(case: Case) -> None:
    check(case, Batched)


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
        for route in ROUTES:
            check(case, route)


@pytest.mark.parametrize("channels", [1, 2, 5, 100])
def test_large_inputs_are_cut_along_each_axis(channels: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(plan, "caches", lambda: (1 << 12, 1 << 13))
    monkeypatch.setattr(plan, "_DOTS_INPUT", 1 << 10)
    monkeypatch.setattr(plan, "_SHORTEST", 16)
    monkeypatch.setattr(plan, "_CHUNK", 1 << 8)
    monkeypatch.setattr(plan, "_INNER", 2)
    for size in ((23, 9), (5, 190), (3, 5, 40), (401,)):
        for stride in (1, 2):
            check(case_of(3, channels, size, 6, (3,) * len(size), stride, (1, 2)), Direct)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    before = get_threads()
    try:
        for route, case in (
            (Direct, case_of(8, 16, (30, 30), 24, (3, 3), padding=(1, 1))),
            (Batched, case_of(70, 40, (6, 7), 48, (3, 3), padding=(1, 1))),
        ):
            arrays = case.arrays(floats)
            set_threads(1)
            alone = list(by_route(route, case, *arrays))
            set_threads(3)
            for _ in range(5):
                for one, several in zip(alone, by_route(route, case, *arrays), strict=True):
                    np.testing.assert_array_equal(one, several)
    finally:
        set_threads(before)


def test_rounding_stays_within_the_bound_for_sums() -> None:
    case = case_of(4, 32, (17, 19), 40, (3, 3), padding=(1, 1))
    arrays = case.arrays(floats)
    wide = [a.astype(np.float64) for a in arrays]
    positive = [np.abs(a) for a in wide]
    lengths = (32 * 9 + 1, 40 * 9, 4 * 17 * 19)
    ways = (by_route(Direct, case, *arrays), chosen(case, *wide), chosen(case, *positive))
    for length, got, expected, bound in zip(lengths, *ways, strict=True):
        # Errors are about as many half units as the root of the number of terms.
        assert (np.abs(got - expected) <= 2.0**-24 * 2 * length**0.5 * bound).all()


def test_nan_and_infinity_reach_what_they_meet_and_nothing_else() -> None:
    for case in (
        case_of(2, 3, (9, 8), 5, (3, 3), padding=(1, 1)),
        case_of(2, 3, (9, 8), 5, (3, 3), stride=2, padding=(1, 0)),
    ):
        x, weight, g, bias = case.arrays(floats)
        x[0, 1, 0, 0], x[1, 2, 8, 7], g[0, 0, 0, 3], g[1, 4, 3, 0] = np.nan, np.inf, np.nan, -np.inf
        wide = [a.astype(np.float64) for a in (x, weight, g, bias)]
        for route in ROUTES:
            found = zip(by_route(route, case, x, weight, g, bias), chosen(case, *wide), strict=True)
            for got, expected in list(found)[:2]:
                np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected))


def test_layouts_that_are_not_contiguous() -> None:
    case = case_of(2, 4, (9, 8), 6, (3, 3), padding=(1, 1))
    x, weight, g, bias = case.arrays(integers)
    odd = [np.moveaxis(np.moveaxis(a, 1, -1).copy(), -1, 1) for a in (x, weight, g)]
    assert not odd[0].flags.c_contiguous
    odd.append(np.repeat(bias, 2)[::2])
    for route in ROUTES:
        ways = (by_route(route, case, x, weight, g, bias), by_route(route, case, *odd))
        for got, expected in zip(*ways, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_as_python_runs_it_every_access_is_in_bounds(monkeypatch: Any) -> None:
    kernels = [(direct, k) for k in ("sums", "inner_products", "_pack")]
    for module, kernel in [*kernels, (batched, "_sums"), (batched, "_inner_products")]:
        python = getattr(module, kernel).python

        class Kernel:
            f32 = staticmethod(
                lambda *a, run=python: run(
                    *(x.reshape(-1) if isinstance(x, np.ndarray) else x for x in a[:-2]), 0, a[-2]
                )
            )

        monkeypatch.setattr(module, kernel, Kernel)
    for case in (
        case_of(2, 2, (4, 5), 5, (3, 2), padding=(1, 1)),
        case_of(1, 2, (5, 5), 2, (2, 2), stride=2, padding=(0, 1), groups=2),
        case_of(1, 1, (2, 3, 3), 1, (2, 2, 1), stride=2, padding=(1, 0)),
    ):
        for route in ROUTES:
            check(case, route)


_GUARDED = """
import ctypes, mmap, sys
import numpy as np

from tests.kernels.conv import cases
from wengert.kernels.conv.batched import Batched
from wengert.kernels.conv.direct import Direct
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
    for case in cases.CASES:
        arrays = [copied(a) for a in case.arrays(cases.integers)]
        wide = [a.astype(np.float64) for a in arrays]
        for route in (Direct, Batched)[: 1 + (case in cases.SMALL)]:
            np.empty = guarded
            found = list(cases.by_route(route, case, *arrays))
            np.empty = empty
            for got, expected in zip(found, cases.chosen(case, *wide)):
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
