"""Convolutions of bfloat16 on pairs of channels and of positions, against float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import wengert
from tests.kernels.conv.cases import CASES, Case, case_of, chosen, floats, integers
from tests.kernels.conv.test_direct import _cases
from tests.kernels.guarded import copied
from tests.kernels.threads import same_for_all_threads
from wengert.kernels import conv
from wengert.kernels.conv import pairs, plan
from wengert.kernels.conv.depthwise import Depthwise
from wengert.kernels.conv.pairs import Pairs
from wengert.kernels.conv.route import Widened
from wengert.kernels.conv.routes import forward_route, grad_weight_route
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads
from wengert.kernels.products.pairs import has_pair_dots

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

BRAIN = np.dtype(ml_dtypes.bfloat16)
WAYS = [False, True] if available() and has_pair_dots() else [False]


@pytest.fixture(params=WAYS, ids=lambda dotted: "dotted" if dotted else "added")
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the processor's instruction for pairs, where it has it, and without it."""
    monkeypatch.setattr(pairs, "has_pair_dots", lambda: request.param)


def maps(case: Case, arrays: Any) -> Iterator[np.ndarray]:
    x, weight, g, bias = arrays
    route = Pairs(case.problem)
    yield route.forward(x, weight, bias)
    yield route.grad_input(g, weight)
    yield route.grad_weight(g, x)


def check(case: Case, arrays: Any = None) -> None:
    """Integers, whose sums are exact, and rounded once."""
    arrays = arrays or [a.astype(BRAIN) for a in case.arrays(integers)]
    wide = [a.astype(np.float64) for a in arrays]
    for got, expected in zip(maps(case, arrays), chosen(case, *wide), strict=True):
        assert got.dtype == BRAIN
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, expected.astype(np.float32).astype(BRAIN))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(tuple(case)[:5]))
def test_integers_are_exact(case: Case, way: None) -> None:
    check(case)


@settings(max_examples=60, deadline=None)
@given(case=_cases())
def test_any_sizes(case: Case) -> None:
    if min(case.out) > 0:
        check(case)


def test_large_inputs_are_cut_along_each_axis(way: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(plan, "caches", lambda: (1 << 12, 1 << 13))
    monkeypatch.setattr(plan, "_DOTS_INPUT", 1 << 10)
    monkeypatch.setattr(plan, "_SHORTEST", 16)
    monkeypatch.setattr(plan, "_CHUNK", 1 << 8)
    monkeypatch.setattr(plan, "_INNER", 2)
    for size in ((23, 9), (5, 190), (3, 5, 40), (401,)):
        for stride in (1, 2, 3):
            for channels in (1, 2, 5):
                check(case_of(3, channels, size, 6, (3,) * len(size), stride, (1, 2)))


@pytest.mark.parametrize("at_end", [False, True])
def test_no_memory_beyond_arrays_is_touched(way: None, at_end: bool) -> None:
    for case in (
        case_of(2, 3, (9, 7), 5, (3, 3), padding=(1, 1)),
        case_of(2, 3, (15, 17), 6, (4, 4), stride=2, padding=(1, 1)),
        case_of(1, 5, (17, 10), 6, (1, 1), stride=3),
    ):
        check(case, [copied(a.astype(BRAIN), at_end) for a in case.arrays(integers)])


def test_digits_do_not_depend_on_threads(way: None) -> None:
    case = case_of(6, 20, (30, 31), 36, (3, 3), stride=2, padding=(1, 1))
    x, weight, g, bias = (a.astype(BRAIN) for a in case.arrays(floats))

    def compute() -> np.ndarray:
        found = maps(case._replace(), (x, weight, g, bias))
        return np.concatenate([a.ravel().astype(np.float32) for a in found])

    same_for_all_threads(compute)


def test_errors_are_those_of_rounding_once(way: None) -> None:
    case = case_of(4, 33, (17, 19), 40, (3, 3), padding=(1, 1))
    arrays = [a.astype(BRAIN) for a in case.arrays(floats)]
    wide = [a.astype(np.float64) for a in arrays]
    bounds = chosen(case, *[np.abs(a) for a in wide])
    for got, exact, bound in zip(maps(case, arrays), chosen(case, *wide), bounds, strict=True):
        error = np.abs(got.astype(np.float64) - exact)
        assert (error <= 2.0**-8 * np.abs(exact) + 2.0**-22 * bound).all()


def test_nan_and_infinity_reach_what_they_meet_and_nothing_else(way: None) -> None:
    for stride in (1, 2):
        case = case_of(2, 3, (9, 8), 5, (3, 3), stride=stride, padding=(1, 1))
        x, weight, g, bias = (a.astype(BRAIN) for a in case.arrays(floats))
        x[0, 1, 0, 0], x[1, 2, 7, 6], g[0, 0, 0, 3], g[1, 4, 3, 0] = np.nan, np.inf, np.nan, -np.inf
        wide = [a.astype(np.float64) for a in (x, weight, g, bias)]
        found = zip(maps(case, (x, weight, g, bias)), chosen(case, *wide), strict=True)
        for got, expected in list(found)[:2]:
            np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected))


def test_layouts_that_are_not_contiguous(way: None) -> None:
    case = case_of(2, 4, (9, 8), 6, (3, 3), padding=(1, 1))
    arrays = [a.astype(BRAIN) for a in case.arrays(integers)]
    odd = [np.moveaxis(np.moveaxis(a, 1, -1).copy(), -1, 1) for a in arrays[:3]]
    check(case, [*odd, np.repeat(arrays[3], 2)[::2]])


def _chosen_route(case: Case, x_dtype: Any = BRAIN, weight_dtype: Any = BRAIN) -> Any:
    problem = case.problem
    sizes = (problem.x, problem.weight, case.geometry)
    return forward_route(*sizes, np.dtype(x_dtype), np.dtype(weight_dtype), get_threads(), "auto")


def test_which_problems_take_this_route(monkeypatch: pytest.MonkeyPatch) -> None:
    strided = case_of(2, 16, (40, 40), 16, (3, 3), stride=2)
    assert isinstance(_chosen_route(strided), Pairs)
    for dtypes in ((np.float16, np.float16), (BRAIN, np.float32)):
        assert isinstance(_chosen_route(strided, *dtypes), Widened)
    depthwise = case_of(2, 1, (40, 40), 1, (3, 3), groups=32)
    found = _chosen_route(depthwise)
    assert isinstance(found, Widened)
    assert isinstance(found._route, Depthwise)
    assert not isinstance(_chosen_route(case_of(1, 1, (3, 3), 1, (1, 1))), Pairs)
    # Where Winograd's method or fewer products save more than the instruction for pairs does.
    plain = case_of(2, 64, (40, 40), 64, (3, 3), padding=(1, 1)).problem
    tiny = case_of(64, 32, (4, 4), 32, (3, 3), padding=(1, 1)).problem
    for dotted in (True, False):
        monkeypatch.setattr(pairs, "has_pair_dots", lambda dotted=dotted: dotted)
        assert Pairs.fits(plain, "forward") is dotted
        assert not Pairs.fits(tiny, "forward")


@pytest.mark.parametrize("dtypes", [(BRAIN, BRAIN), (np.float16, np.float16), (BRAIN, np.float32)])
def test_results_have_the_dtype_of_the_first_array(dtypes: Any) -> None:
    geometry = Geometry((1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    for channels in (1, 16):
        x = integers((2, channels, 9, 8)).astype(dtypes[0])
        weight = integers((6, channels, 3, 3)).astype(dtypes[1])
        out = conv.forward(x, weight, geometry)
        exact = conv.forward(x.astype(np.float64), weight.astype(np.float64), geometry)
        assert out.dtype == dtypes[0]
        np.testing.assert_array_equal(out, exact.astype(np.float32).astype(dtypes[0]))
        back = conv.grad_input(out, weight, (9, 8), geometry)
        assert back.dtype == dtypes[0]
        assert conv.grad_weight(out, x, (3, 3), geometry).dtype == dtypes[0]
    route = grad_weight_route(
        (2, 6, 9, 8), (2, 16, 9, 8), (3, 3), geometry, BRAIN, np.dtype(np.float32), 1, "auto"
    )
    g = integers((2, 6, 9, 8)).astype(BRAIN)
    assert route.grad_weight(g, integers((2, 16, 9, 8))).dtype == np.float32


@pytest.mark.torch
@pytest.mark.parametrize("last", [False, True], ids=["first", "channels last"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
def test_no_less_exact_than_pytorch(torch: Any, stride: int, groups: int, last: bool) -> None:
    """Errors against float64 of a layer and its gradients."""
    draw = np.random.default_rng(0).standard_normal
    x, w = draw((3, 12, 19, 21)).astype("f"), draw((10, 12 // groups, 3, 3)).astype("f") / 10
    size = tuple((n + 2 - 3) // stride + 1 for n in (19, 21))
    g, found = draw((3, 10, *size)).astype("f"), []
    for lib, dtype in ((wengert, "bfloat16"), (torch, "bfloat16"), (torch, "float64")):
        to = getattr(lib, dtype)
        values = [lib.from_numpy(v).to(lib.bfloat16).to(to) for v in (x, w)]
        if last:
            values[0] = values[0].to(memory_format=lib.channels_last)
        values = [v.requires_grad_() for v in values]
        out = lib.nn.functional.conv2d(
            *values, None, stride, "same" if stride == 1 else 1, 1, groups
        )
        assert out.is_contiguous() is not last
        out.backward(lib.from_numpy(g).to(lib.bfloat16).to(to))
        results = [out.detach(), *(v.grad for v in values)]
        found.append([r.to(lib.float64).numpy() for r in results])
    for ours, theirs, exact in zip(*found, strict=True):
        bound = max(np.abs(theirs - exact).max(), 2.0**-9 * np.abs(exact).max())
        assert np.abs(ours - exact).max() <= bound
