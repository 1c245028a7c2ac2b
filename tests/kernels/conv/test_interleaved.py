"""Dilated convolutions as plain ones of images between one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.conv.cases import Case, case_of, check, chosen, floats, integers
from tests.kernels.threads import same_for_all_threads
from wengert.kernels.conv import interleaved
from wengert.kernels.conv.batched import Batched
from wengert.kernels.conv.direct import Direct
from wengert.kernels.conv.interleaved import Interleaved
from wengert.kernels.conv.routes import route_for
from wengert.kernels.conv.winograd import Winograd
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

PADDINGS = [((0, 0), (0, 0)), ((2, 2), (2, 2)), ((3, 1), (0, 4)), ((7, 7), (5, 5))]


@pytest.fixture
def by_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """With plain sums for the images, which are exact, and for any sizes."""
    monkeypatch.setattr(interleaved, "_ROUTES", (Direct,))
    monkeypatch.setattr(interleaved, "_COPYING", 0)


@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize("dilation", [(2, 2), (3, 1), (1, 4), (7, 5)], ids=str)
def test_integers_are_exact(by_direct: None, dilation: Any, padding: Any) -> None:
    for size in ((9, 11), (5, 7), (17, 4), (1, 1)):
        for kernel, groups in (((3, 3), 1), ((2, 1), 2)):
            case = Case(3, 2, size, 3, kernel, Geometry((1, 1), padding, dilation, groups))
            if min(case.out) > 0:
                assert Interleaved.fits(case.problem, "forward")
                check(case, Interleaved)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_sizes(data: Any) -> None:
    def each(low: int, high: int) -> tuple[int, int]:
        return data.draw(st.tuples(*[st.integers(low, high)] * 2))

    geometry = Geometry((1, 1), (each(0, 9), each(0, 9)), each(2, 8), 1)
    case = Case(data.draw(st.integers(1, 3)), 2, each(1, 20), 2, each(1, 4), geometry)
    if min(case.out) > 0:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interleaved, "_ROUTES", (Direct,))
            check(case, Interleaved)


CHOSEN = [
    (case_of(2, 128, (34, 37), 136, (3, 3), padding=(2, 2), dilation=2), Winograd),
    (case_of(1, 40, (33, 33), 32, (3, 3), padding=(12, 12), dilation=12), Batched),
]


@pytest.mark.parametrize(("case", "route"), CHOSEN, ids=["winograd", "batched"])
def test_routes_that_save_products(case: Case, route: Any) -> None:
    arrays = case.arrays(floats)
    for direction in ("forward", "grad_input", "grad_weight"):
        found = route_for(case.problem, direction)
        assert isinstance(found, Interleaved)
        assert isinstance(found._inner(direction), route)

    def compute() -> np.ndarray:
        return np.concatenate([a.ravel() for a in chosen(case, *arrays)])

    wide = [a.astype(np.float64) for a in arrays]
    results, exact = same_for_all_threads(compute), list(chosen(case, *wide))
    first = 0
    for expected in exact:
        got = results[first : first + expected.size].reshape(expected.shape)
        assert np.abs(got - expected).max() <= 6e-6 * np.abs(expected).max()
        first += expected.size


def test_what_it_is_not_for() -> None:
    fitting = CHOSEN[0][0]
    for other in (
        fitting._replace(geometry=fitting.geometry._replace(dilation=(1, 1))),
        fitting._replace(geometry=fitting.geometry._replace(stride=(2, 1))),
        fitting._replace(batch=0),
        fitting._replace(outs=1),  # taking inputs apart would cost more than it saves
        case_of(2, 32, (300,), 32, (3,), padding=(2, 2), dilation=2),
    ):
        assert not Interleaved.fits(other.problem, "forward")
    # The gradient of an input of which more lies behind the windows than a plain one has there.
    larger = fitting.problem._replace(x=(2, 128, 34, 44))
    assert not Interleaved.fits(larger, "grad_input")


def test_gradients_of_inputs_that_are_larger_than_windows_reach(by_direct: None) -> None:
    case = case_of(2, 3, (9, 12), 4, (3, 3), padding=(2, 2), dilation=3)
    _, weight, g, bias = case.arrays(integers)
    for more in (1, 2):
        problem = case.problem._replace(x=(2, 3, 9 + more, 12))
        assert Interleaved.fits(problem, "grad_input")
        found = [route(problem).grad_input(g, weight, bias[:3]) for route in (Interleaved, Direct)]
        np.testing.assert_array_equal(*found)
