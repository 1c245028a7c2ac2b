"""`linalg.ldl_factor` and `ldl_solve` against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert

RNG = np.random.default_rng(0)
REAL = RNG.standard_normal((2, 5, 5))
COMPLEX = REAL + 1j * RNG.standard_normal((2, 5, 5))
MATRICES = {
    "real": (REAL + np.swapaxes(REAL, -1, -2), False),
    "hermitian-real": (REAL + np.swapaxes(REAL, -1, -2), True),
    "symmetric": (COMPLEX + np.swapaxes(COMPLEX, -1, -2), False),
    "hermitian": (COMPLEX + np.swapaxes(COMPLEX, -1, -2).conj(), True),
    "one": ((REAL + np.swapaxes(REAL, -1, -2))[0], False),
    "empty": (np.zeros((0, 3, 3)), False),
    "of no rows": (np.zeros((0, 0)), False),
    "several of no rows": (np.zeros((2, 0, 0)), False),
}


@pytest.mark.torch
@pytest.mark.parametrize("key", MATRICES)
def test_factors_and_solutions(torch: Any, key: str) -> None:
    matrix, hermitian = MATRICES[key]
    right = RNG.standard_normal((matrix.shape[-1], 2)).astype(matrix.dtype)
    found = []
    for library in (wengert, torch):
        A, B = library.from_numpy(matrix.copy()), library.from_numpy(right.copy())  # noqa: N806
        factors = library.linalg.ldl_factor_ex(A, hermitian=hermitian)
        solution = library.linalg.ldl_solve(*factors[:2], B, hermitian=hermitian)
        found.append([x.numpy() for x in (*factors, solution)])
        np.testing.assert_allclose(matrix @ found[-1][3], right + 0 * found[-1][3], atol=1e-10)
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 1e-9, 1e-10)


REFUSED: tuple[Callable[[Any], Any], ...] = (
    lambda t: t.linalg.ldl_factor(t.zeros(2, 2)),
    lambda t: t.linalg.ldl_factor_ex(t.zeros(2, 2), check_errors=True),
    lambda t: t.linalg.ldl_factor(t.ones(2, 3)),
    lambda t: t.linalg.ldl_factor(t.ones(3)),
    lambda t: t.linalg.ldl_solve(*t.linalg.ldl_factor(t.eye(2)), t.ones(3, 1)),
    lambda t: t.linalg.ldl_solve(t.eye(2), t.ones(3).int(), t.ones(2, 1)),
    lambda t: t.linalg.ldl_solve(t.eye(2), t.ones(2), t.ones(2, 1)),
)


@pytest.mark.torch
@pytest.mark.parametrize("call", REFUSED)
def test_singular_matrices_and_bad_arguments(torch: Any, call: Callable[[Any], Any]) -> None:
    for library in (wengert, torch):
        assert library.linalg.ldl_factor_ex(library.zeros(2, 2)).info.item() == 1
        with pytest.raises(RuntimeError):
            call(library)


@pytest.mark.torch
def test_there_is_no_derivative(torch: Any) -> None:
    for library in (wengert, torch):
        x = library.eye(2).requires_grad_(True)
        with pytest.raises((RuntimeError, NotImplementedError), match="is not implemented"):
            library.linalg.ldl_factor(x).LD.sum().backward()


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
