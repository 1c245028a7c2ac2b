"""Contractions as products of matrices and loops."""

from __future__ import annotations

import pytest

import wengert

from .harness import check_native, sample

TWO = [
    ("ij,jk->ik", (4, 5), (5, 6)),
    ("ij,jk->ki", (4, 5), (5, 6)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bihd,bjhd->bhij", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("bi,kij->bkj", (4, 5), (3, 5, 6)),
    ("i,j->ji", (4,), (5,)),
    ("bi,bj->bij", (3, 4), (3, 5)),
    ("bi,bi->b", (3, 4), (3, 4)),
    ("abc,acd->bd", (2, 3, 4), (2, 4, 5)),
    ("ij,ij->", (4, 5), (4, 5)),
    ("ab,cd->abcd", (2, 3), (4, 5)),
    ("ia,ja->ij", (4, 1), (5, 1)),
]


@pytest.mark.parametrize(("equation", "shape", "other"), TWO)
def test_two_arrays(equation: str, shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    b = wengert.tensor(sample(other))
    check_native(lambda x: wengert.einsum(equation, x, b * x.sum()) * 2, sample(shape))


@pytest.mark.parametrize("equation", ["ij->i", "ij->", "ij->j"])
def test_one_array(equation: str) -> None:
    check_native(lambda x: (wengert.einsum(equation, x) * 2).exp(), sample((3, 4)))


@pytest.mark.parametrize("equation", ["ii->i", "ii->", "ij->ji"])
def test_diagonals_and_results_that_lie_in_another_order(equation: str) -> None:
    check_native(lambda x: wengert.einsum(equation, x), sample((4, 4)), whole=False)


def test_products_of_vectors_and_with_more() -> None:
    check_native(lambda x: wengert.outer(x[0], x[1] * 2) * wengert.dot(x[0], x[2]), sample((3, 7)))
    check_native(
        lambda x: wengert.baddbmm(x[0], x, x.transpose(1, 2) @ x) * 2, sample((3, 4, 4))
    )  # fmt: skip
