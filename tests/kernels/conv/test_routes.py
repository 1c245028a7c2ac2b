"""Which route is chosen for which problem, and when one is chosen anew."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.kernels.conv.cases import Case, case_of, chosen, floats, integers
from wengert.kernels import conv
from wengert.kernels.conv import routes
from wengert.kernels.conv.im2col import Im2col, Pointwise
from wengert.kernels.conv.route import Direction, Route, WinogradSetting
from wengert.kernels.conv.routes import (
    Mirrored,
    forward_route,
    grad_input_route,
    grad_weight_route,
    route_for,
)
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.products.microkernel import lanes

needs_jit = pytest.mark.skipif(not available(), reason="needs llvmlite")

CACHES = (forward_route, grad_input_route, grad_weight_route)
DIRECTIONS: tuple[Direction, ...] = ("forward", "grad_input", "grad_weight")
IMAGES = case_of(2, 8, (9, 9), 8, (3, 3), padding=(1, 1))
CHANNELS = case_of(16, 64, (32, 32), 64, (3, 3), padding=(1, 1))
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    """Each test chooses for itself, and no later one sees what it chose."""
    for cache in CACHES:
        cache.cache_clear()
    yield
    for cache in CACHES:
        cache.cache_clear()


def names(case: Case, float32: bool = True, winograd: str = "auto") -> list[str]:
    """The routes of the three maps."""
    problem = case.problem._replace(float32=float32, winograd=winograd)
    return [type(route_for(problem, direction)).__name__ for direction in DIRECTIONS]


@needs_jit
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (CHANNELS, ["Winograd"] * 3),
        (IMAGES, ["Direct"] * 3),
        (case_of(2, 64, (32, 32), 64, (3, 3), stride=2), ["Direct"] * 3),
        (case_of(2, 64, (32, 32), 64, (5, 5)), ["Direct"] * 3),
        (case_of(64, 32, (4, 4), 64, (3, 3), padding=(1, 1)), ["Batched"] * 3),
        # Weights that are large beside the positions that they meet.
        (case_of(1, 512, (7, 7), 512, (3, 3), padding=(1, 1)), ["Few", "Few", "Direct"]),
        (case_of(1, 256, (14, 14), 512, (1, 1), stride=2), ["Few", "Few", "Apart"]),
        # Windows that do not overlap.
        (case_of(4, 64, (56, 56), 128, (1, 1), stride=2), ["Apart", "Direct", "Apart"]),
        (case_of(2, 3, (64, 64), 96, (4, 4), stride=4), ["Apart", "Direct", "Apart"]),
        (case_of(8, 64, (28, 28), 256, (1, 1)), ["Pointwise", "Mirrored", "Apart"]),
        (case_of(2, 1, (32, 32), 1, (3, 3), groups=16), ["Depthwise"] * 3),
        (case_of(2, 1, (32, 32), 1, (5, 5), stride=2, groups=16), ["Depthwise"] * 3),
        (case_of(2, 1, (32, 32), 2, (3, 3), groups=16), ["Direct"] * 3),
        # Padding beyond the kernel: the gradient of the input is no convolution.
        (case_of(2, 1, (32, 32), 1, (3, 3), padding=(3, 3), groups=16),
         ["Depthwise", "Direct", "Depthwise"]),
        (case_of(16, 64, (32, 32), 64, (3, 3), padding=(3, 3)),
         ["Winograd", "Direct", "Winograd"]),
        # Twelve channels fill a vector or not, as vectors are.
        (case_of(5, 12, (9, 8), 16, (1, 1)),
         ["Pointwise", "Mirrored", "Apart" if lanes() <= 12 else "Direct"]),
        # A product of matrices with three rows is slow.
        (case_of(5, 3, (9, 8), 16, (1, 1)), ["Pointwise", "Direct", "Direct"]),
        (case_of(3, 6, (2000,), 7, (5,)), ["Direct"] * 3),
        (case_of(2, 3, (7, 8, 9), 4, (3, 3, 3)), ["Direct"] * 3),
        # Too little to compute for compiled kernels.
        (case_of(1, 1, (4, 4), 1, (3, 3)), ["Im2col"] * 3),
    ],
    ids=lambda case: str(tuple(case)[:5]) if isinstance(case, Case) else "",
)  # fmt: skip
def test_each_problem_has_its_route(case: Case, expected: list[str]) -> None:
    assert names(case) == expected


def test_other_dtypes_take_numpy() -> None:
    assert names(CHANNELS, float32=False) == ["Im2col", "Mirrored", "Im2col"]


def test_without_llvmlite_all_take_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "available", lambda: False)
    for case in (CHANNELS, IMAGES):
        assert names(case) == ["Im2col", "Mirrored", "Im2col"]
    assert names(case_of(5, 12, (9, 8), 16, (1, 1)))[0] == "Pointwise"


def test_columns_are_better_than_a_convolution_with_few_rows() -> None:
    few = case_of(2, 3, (9, 9), 16, (3, 3))
    assert names(few, float32=False)[1] == "Im2col"
    assert names(few._replace(geometry=few.geometry._replace(groups=2)), float32=False)[1] == (
        "Mirrored"
    )


@needs_jit
@pytest.mark.parametrize("winograd", ["off", "f2", "f4", "auto"])
def test_winograd_is_taken_where_it_is_asked_for(winograd: str) -> None:
    expected = "Direct" if winograd == "off" else "Winograd"
    assert names(CHANNELS, winograd=winograd) == [expected] * 3


def maps(route: Route, x: Any, weight: Any, g: Any, bias: Any) -> list[np.ndarray]:
    """All three."""
    return [route.forward(x, weight, bias), route.grad_input(g, weight), route.grad_weight(g, x)]


@needs_jit
def test_every_route_that_fits_computes_the_same() -> None:
    for case in (IMAGES, CHANNELS._replace(batch=1), case_of(2, 1, (9, 9), 1, (3, 3), groups=8)):
        x, weight, g, bias = case.arrays(integers)
        exact = maps(Im2col(case.problem), x, weight, g, bias)
        for kind in routes._compiled_routes():
            fits = [kind.fits(case.problem, direction) for direction in DIRECTIONS]
            if not all(fits):
                continue
            found = maps(kind(case.problem), x, weight, g, bias)
            for got, expected in zip(found, exact, strict=True):
                np.testing.assert_allclose(got, expected, atol=1e-5 * np.abs(expected).max())


def test_a_mirrored_convolution_is_the_gradient_of_the_input() -> None:
    for case in (IMAGES, case_of(2, 3, (7, 8), 4, (3, 3), padding=(2, 1), groups=2)):
        _, weight, g, bias = case.arrays(integers)
        bias = np.arange(case.problem.x[1]).astype(np.float32)
        assert Mirrored.fits(case.problem._replace(float32=False), "grad_input")
        np.testing.assert_array_equal(
            Mirrored(case.problem).grad_input(g, weight, bias),
            Im2col(case.problem).grad_input(g, weight, bias),
        )


def test_pointwise_is_the_product_that_columns_are() -> None:
    case = case_of(5, 4, (9, 8), 6, (1, 1), groups=2)
    x, weight, _, bias = case.arrays(integers)
    found = Pointwise(case.problem).forward(x, weight, bias)
    np.testing.assert_array_equal(found, Im2col(case.problem).forward(x, weight, bias))


@pytest.mark.parametrize("channels", [3, 12])
@pytest.mark.parametrize("groups", [1, 2])
def test_windows_of_one_element(channels: int, groups: int) -> None:
    case = case_of(5, channels, (9, 8), 16, (1, 1), groups=groups)
    x, weight, g, bias = case.arrays(integers)
    wide = [a.astype(np.float64) for a in (x, weight, g, bias)]
    pairs = zip(chosen(case, x, weight, g, bias), chosen(case, *wide), strict=True)
    for got, expected in pairs:
        np.testing.assert_array_equal(got, expected)
    shift = np.arange(channels * groups, dtype=np.float32)
    plain, biased = (conv.grad_input(g, weight, case.size, case.geometry, b) for b in (None, shift))
    np.testing.assert_array_equal(biased, plain + shift.reshape(-1, 1, 1))


def test_a_problem_is_planned_once() -> None:
    x, weight, g, bias = IMAGES.arrays(floats)
    for _ in range(3):
        list(chosen(IMAGES, x, weight, g, bias))
    assert [(c.cache_info().misses, c.cache_info().hits) for c in CACHES] == [(1, 2)] * 3


def test_caches_are_bounded() -> None:
    assert all(cache.cache_parameters()["maxsize"] == routes._REMEMBERED for cache in CACHES)
    for n in range(routes._REMEMBERED + 5):
        forward_route((1, 1, n + 1), (1, 1, 1), Geometry((1,), ((0, 0),), (1,)), F64, F64, 1, "off")
    assert forward_route.cache_info().currsize == routes._REMEMBERED


ONE = Geometry((1, 1), ((1, 1), (1, 1)), (1, 1), 1)
FORWARD: dict[str, tuple[Any, ...]] = {
    "as it is": ((2, 8, 9, 9), (8, 8, 3, 3), ONE, F32, F32, 1, "auto"),
    "padding": ((2, 8, 9, 9), (8, 8, 3, 3), ONE._replace(padding=((1, 0), (1, 1))), F32, F32, 1,
                "auto"),
    "stride": ((2, 8, 9, 9), (8, 8, 3, 3), ONE._replace(stride=(1, 2)), F32, F32, 1, "auto"),
    "dilation": ((2, 8, 9, 9), (8, 8, 3, 3), ONE._replace(dilation=(2, 1)), F32, F32, 1, "auto"),
    "groups": ((2, 16, 9, 9), (8, 8, 3, 3), ONE._replace(groups=2), F32, F32, 1, "auto"),
    "batch": ((3, 8, 9, 9), (8, 8, 3, 3), ONE, F32, F32, 1, "auto"),
    "dtype": ((2, 8, 9, 9), (8, 8, 3, 3), ONE, F64, F64, 1, "auto"),
    "threads": ((2, 8, 9, 9), (8, 8, 3, 3), ONE, F32, F32, 2, "auto"),
    "winograd": ((2, 8, 9, 9), (8, 8, 3, 3), ONE, F32, F32, 1, "off"),
}  # fmt: skip


@pytest.mark.parametrize("pair", list(combinations(FORWARD, 2)), ids=" and ".join)
def test_problems_that_differ_have_routes_of_their_own(pair: tuple[str, str]) -> None:
    one, other = (forward_route(*FORWARD[name]) for name in pair)
    assert one is not other
    assert one.problem != other.problem


def test_inputs_of_two_sizes_can_have_one_gradient_of_the_output() -> None:
    """With a stride of 2, seven and eight make three windows."""
    steps = Geometry((2,), ((0, 0),), (1,))
    g, weight = floats((1, 2, 3)), floats((2, 4, 3))
    assert conv.grad_input(g, weight, (7,), steps).shape == (1, 4, 7)
    assert conv.grad_input(g, weight, (8,), steps).shape == (1, 4, 8)


def test_weights_of_two_sizes_can_have_one_gradient_of_the_output() -> None:
    steps = Geometry((2,), ((0, 0),), (1,))
    g, x = floats((1, 2, 3)), floats((1, 4, 8))
    assert conv.grad_weight(g, x, (3,), steps).shape == (2, 4, 3)
    assert conv.grad_weight(g, x, (4,), steps).shape == (2, 4, 4)


@pytest.mark.parametrize(
    "case",
    [IMAGES, CHANNELS._replace(batch=2), case_of(2, 1, (9, 9), 1, (3, 3), groups=9),
     case_of(64, 8, (4, 4), 8, (3, 3), padding=(1, 1)), case_of(5, 12, (9, 8), 16, (1, 1))],
    ids=lambda case: str(tuple(case)[:5]),
)  # fmt: skip
def test_one_plan_is_right_for_every_layout(case: Case) -> None:
    arrays = case.arrays(integers)
    expected = list(chosen(case, *arrays))
    before = [cache.cache_info().misses for cache in CACHES]
    last = [np.moveaxis(np.moveaxis(a, 1, -1).copy(), -1, 1) for a in arrays[:3]]
    apart = [np.repeat(a, 2, axis=-1)[..., ::2] for a in arrays]
    for others in ([*last, arrays[3]], apart):
        assert others[0].strides != arrays[0].strides
        for got, exact in zip(chosen(case, *others), expected, strict=True):
            np.testing.assert_array_equal(got, exact)
    assert [cache.cache_info().misses for cache in CACHES] == before


@needs_jit
def test_settings_that_change_are_seen() -> None:
    x, weight, _, _ = CHANNELS._replace(batch=1).arrays(floats)
    threads, winograd = get_threads(), WinogradSetting.choice
    try:
        WinogradSetting.choice = "off"
        plain = conv.forward(x, weight, CHANNELS.geometry)
        for WinogradSetting.choice in ("f2", "f4"):
            assert (conv.forward(x, weight, CHANNELS.geometry) != plain).any()
        WinogradSetting.choice = "off"
        set_threads(threads + 1)
        np.testing.assert_array_equal(conv.forward(x, weight, CHANNELS.geometry), plain)
        assert forward_route.cache_info().misses == 4
    finally:
        set_threads(threads)
        WinogradSetting.choice = winograd


def test_threads_may_share_a_route() -> None:
    x, weight, g, bias = IMAGES.arrays(floats)
    expected = list(chosen(IMAGES, x, weight, g, bias))
    for cache in CACHES:
        cache.cache_clear()
    start, wrong = threading.Barrier(4), []

    def run() -> None:
        start.wait()
        for _ in range(20):
            pairs = zip(chosen(IMAGES, x, weight, g, bias), expected, strict=True)
            wrong.extend(got for got, exact in pairs if not np.array_equal(got, exact))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_child_uses_the_routes_of_its_parent() -> None:
    x, weight, g, bias = IMAGES.arrays(floats)
    expected = list(chosen(IMAGES, x, weight, g, bias))
    child = os.fork()
    if not child:
        pairs = zip(chosen(IMAGES, x, weight, g, bias), expected, strict=True)
        same = all(np.array_equal(got, exact) for got, exact in pairs)
        os._exit(0 if same and forward_route.cache_info().misses == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_two_dtypes_are_not_float32() -> None:
    shapes = (2, 8, 9, 9), (8, 8, 3, 3), ONE
    for dtypes in ((F32, F64), (F64, F32)):
        assert not forward_route(*shapes, *dtypes, 1, "auto").problem.float32
    assert forward_route(*shapes, F32, F32, 1, "auto").problem.float32


def test_a_call_that_fails_leaves_no_route() -> None:
    with pytest.raises(ValueError, match="zip"):
        conv.forward(floats((1, 3, 8)), floats((4, 3, 3)), ONE)
    assert forward_route.cache_info().currsize == 0
