"""Few positions and large weights: the sums are exact whatever the sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.conv.cases import CASES, Case, case_of, check, integers
from wengert.kernels.jit import available

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


@pytest.mark.parametrize("case", [case for case in CASES if case.geometry.groups == 1], ids=str)
def test_sums_are_exact(case: Case) -> None:
    from wengert.kernels.conv.few import Few

    check(case, Few)


def test_layouts_do_not_matter() -> None:
    from wengert.kernels.conv.few import Few

    case = case_of(2, 8, (9, 8), 12, (3, 2), stride=2)
    route = Few(case.problem)
    x, weight, g, bias = case.arrays(integers)
    for order in ("K", "F"):
        a, w, b = (np.asarray(array, order=order) for array in (x, weight, g))
        np.testing.assert_array_equal(route.forward(a, w, bias), route.forward(x, weight, bias))
        np.testing.assert_array_equal(route.grad_input(b, w), route.grad_input(g, weight))
