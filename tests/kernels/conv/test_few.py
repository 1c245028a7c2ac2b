"""Few positions and large weights: the sums are exact whatever the sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.conv.cases import CASES, Case, case_of, check, integers
from wengert.kernels.conv.batched import Batched
from wengert.kernels.conv.few import Few
from wengert.kernels.conv.routes import route_for
from wengert.kernels.jit import available

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


@pytest.mark.parametrize("case", [case for case in CASES if case.geometry.groups == 1], ids=str)
def test_sums_are_exact(case: Case) -> None:
    check(case, Few)


def test_layouts_do_not_matter() -> None:
    case = case_of(2, 8, (9, 8), 12, (3, 2), stride=2)
    route = Few(case.problem)
    x, weight, g, bias = case.arrays(integers)
    for order in ("K", "F"):
        a, w, b = (np.asarray(array, order=order) for array in (x, weight, g))
        np.testing.assert_array_equal(route.forward(a, w, bias), route.forward(x, weight, bias))
        np.testing.assert_array_equal(route.grad_input(b, w), route.grad_input(g, weight))


def test_samples_side_by_side_leave_out_padding() -> None:
    """Where windows of a generator's images are mostly padding, vectors of samples do less."""
    images = case_of(16, 128, (8, 8), 256, (4, 4), stride=2, padding=(1, 1)).problem
    one = case_of(1, 128, (8, 8), 256, (4, 4), stride=2, padding=(1, 1)).problem
    for direction in ("forward", "grad_input"):
        assert isinstance(route_for(images, direction), Batched)
        assert isinstance(route_for(one, direction), Few)
