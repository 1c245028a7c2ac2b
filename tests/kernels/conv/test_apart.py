"""Windows that do not overlap: the sums are exact, and small errors do not add up."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.conv.cases import Case, case_of, check, floats
from wengert.kernels.conv.apart import POSITIONS, Apart
from wengert.kernels.conv.routes import route_for
from wengert.kernels.geometry import Geometry
from wengert.kernels.jit import available, get_threads, set_threads

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

CASES = [
    case_of(1, 5, (6, 7), 4, (1, 1)),
    case_of(3, 16, (20, 20), 8, (1, 1)),
    case_of(3, 16, (9, 8), 8, (1, 1)),
    case_of(2, 3, (17, 10), 6, (1, 1), stride=2),
    case_of(2, 3, (17, 10), 6, (2, 1), stride=4),
    case_of(1, 3, (32, 48), 24, (16, 16), stride=16),
    case_of(4, 3, (35, 50), 7, (3, 2), stride=6, dilation=2),
    case_of(2, 4, (70,), 9, (3,), stride=3),
    case_of(2, 4, (5, 8, 9), 6, (1, 2, 2), stride=2),
    case_of(2, 1, (8, 8), 1, (2, 2), stride=2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_are_exact(case: Case) -> None:
    check(case, Apart)


def test_what_fits() -> None:
    sizes = 1, 32, (16, 16), 48
    for stride, dilation in ((2, 1), (3, 1), (3, 2), (5, 4)):
        problem = case_of(*sizes, (2, 2), stride=stride, dilation=dilation).problem
        assert Apart.fits(problem, "forward")
        assert Apart.fits(problem, "grad_weight")
        assert not Apart.fits(problem, "grad_input")
    for case in (
        case_of(*sizes, (3, 3), stride=2),  # they overlap
        case_of(*sizes, (2, 2), stride=2, dilation=2),
        case_of(*sizes, (2, 2), stride=2, padding=(1, 0)),
        case_of(*sizes, (2, 2), stride=2, groups=2),
        case_of(1, 1, (16, 16), 48, (1, 1)),  # a vector would hold one term
        case_of(1, 32, (16, 16), 1, (1, 1)),
    ):
        assert not Apart.fits(case.problem, "forward")


def test_each_dimension_has_its_stride() -> None:
    geometry = Geometry((1, 2), ((0, 0), (0, 0)), (1, 1))
    check(Case(2, 4, (9, 12), 6, (1, 2), geometry), Apart)


@pytest.mark.parametrize("size", [(7, 7), (32, 32)])
def test_many_positions(size: tuple[int, int]) -> None:
    """Errors against float64, for both ways to sum over samples; threads change no digit."""
    assert (size[0] * size[1] >= POSITIONS) == (size == (32, 32))
    case = case_of(8, 64, size, 96, (1, 1))
    route = route_for(case.problem, "grad_weight")
    assert type(route) is Apart
    x, _, g, _ = case.arrays(floats)
    exact = np.einsum("nohw,nchw->oc", g.astype(np.float64), x)
    before, results = get_threads(), []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            results.append(route.grad_weight(g, x)[:, :, 0, 0])
    finally:
        set_threads(before)
    np.testing.assert_allclose(results[0], exact, rtol=0, atol=1e-6 * np.abs(exact).max())
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_layouts_do_not_matter() -> None:
    case = case_of(2, 8, (9, 8), 12, (3, 2), stride=3)
    route = Apart(case.problem)
    x, weight, g, bias = case.arrays(floats)
    for order in ("K", "F"):
        a, w, b = (np.asarray(array, order=order) for array in (x, weight, g))
        np.testing.assert_array_equal(route.forward(a, w, bias), route.forward(x, weight, bias))
        np.testing.assert_array_equal(route.grad_weight(b, a), route.grad_weight(g, x))
