"""What is checked before LAPACK reads rows by the pivots of a factorization."""

from __future__ import annotations

import pytest

import wengert


@pytest.mark.parametrize("pivots", [[0, 2, 3], [1, 2, 4], [1, 2, -3], [-1, -2, 3], [-4, -4, 3]])
def test_pivots_that_no_factorization_gives(pivots: list[int]) -> None:
    LD = wengert.eye(3)  # noqa: N806
    wrong = wengert.tensor(pivots, dtype=wengert.int32)
    with pytest.raises(RuntimeError, match=r"pivots must be those of linalg\.ldl_factor"):
        wengert.linalg.ldl_solve(LD, wrong, wengert.ones(3, 1))


def test_blocks_of_two_rows_are_right() -> None:
    A = wengert.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])  # noqa: N806
    LD, pivots = wengert.linalg.ldl_factor(A)  # noqa: N806
    assert min(pivots.tolist()) < 0
    b = wengert.tensor([[1.0], [2.0], [3.0]])
    wengert.testing.assert_close(A @ wengert.linalg.ldl_solve(LD, pivots, b), b)
