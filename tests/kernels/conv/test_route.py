"""Problems: what a convolution is, and which one its gradient is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.conv.cases import case_of, integers
from wengert.kernels.conv.im2col import Im2col


def test_multiplications_count_each_place_of_each_window() -> None:
    problem = case_of(2, 3, (8, 8), 5, (3, 3), padding=(1, 1), groups=4).problem
    assert problem.multiplications == 2 * (20 * 3 * 9) * 64


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, True), ({"stride": 2}, False), ({"padding": (0, 1)}, False), ({"dilation": 3}, True)],
    ids=str,
)
def test_pointwise(changes: dict[str, int], expected: bool) -> None:
    assert case_of(2, 3, (8, 8), 5, (1, 1), **changes).problem.pointwise is expected  # type: ignore[arg-type]


def test_a_larger_kernel_is_not_pointwise() -> None:
    assert not case_of(2, 3, (8, 8), 5, (1, 2)).problem.pointwise


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2), (2, 0)])
def test_the_adjoint_of_a_convolution_is_one(padding: tuple[int, int], groups: int) -> None:
    case = case_of(2, 3, (7, 8), 4, (3, 3), padding=padding, groups=groups)
    adjoint = case.problem.adjoint
    assert adjoint is not None
    assert adjoint.x == (2, 4 * groups, *case.out)
    assert adjoint.weight == (3 * groups, 4, 3, 3)
    assert adjoint.geometry.out_size(case.out, (3, 3)) == adjoint.out == case.size
    _, weight, g, _ = case.arrays(integers)
    turned = weight[:, :, ::-1, ::-1].reshape(groups, 4, 3, 3, 3).swapaxes(1, 2)
    mirrored = turned.reshape(3 * groups, 4, 3, 3)
    np.testing.assert_array_equal(
        Im2col(adjoint).forward(g, mirrored), Im2col(case.problem).grad_input(g, weight)
    )


def test_some_have_no_convolution_as_adjoint() -> None:
    assert case_of(1, 1, (9, 9), 1, (3, 3), stride=2).problem.adjoint is None
    # Windows that lie in the padding alone get a gradient that reaches nothing.
    assert case_of(1, 1, (9, 9), 1, (3, 3), padding=(3, 0)).problem.adjoint is None
