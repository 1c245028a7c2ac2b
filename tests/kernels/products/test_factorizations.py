"""Triangular systems: of every size, triangle and dtype, in one piece and cut."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.kernels.products import openblas
from wengert.kernels.products.factorizations import (
    full_rank_inverse,
    solve,
    solve_triangular,
)

SIZES = [(1, 1), (5, 40), (40, 3), (64, 32), (65, 70), (131, 33)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize(("rows", "sides"), SIZES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("bundled", [False, True])
def test_triangular_systems(
    dtype: type, rows: int, sides: int, upper: bool, bundled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not bundled:  # as with a NumPy that has another BLAS
        monkeypatch.setattr(openblas, "substitute", lambda *_: False)
    random = np.random.default_rng(rows + sides)
    full = (random.standard_normal((2, rows, rows)) / rows + 2 * np.eye(rows)).astype(dtype)
    b = random.standard_normal((2, rows, sides)).astype(dtype)
    for unit in (False, True):
        triangle = np.triu(full) if upper else np.tril(full)
        if unit:
            np.einsum("...ii->...i", triangle)[...] = 1
        x = solve_triangular(full, b, upper, unit)
        assert x.dtype == dtype
        np.testing.assert_allclose(triangle @ x, b, atol=100 * np.finfo(dtype).eps)
        turned = solve_triangular(
            np.asarray(full, order="F"), np.asarray(b, order="F"), upper, unit
        )
        np.testing.assert_array_equal(turned, x)


def test_nothing_to_solve() -> None:
    assert solve_triangular(np.zeros((0, 0)), np.zeros((0, 3)), True, False).shape == (0, 3)
    assert solve_triangular(np.eye(2), np.zeros((2, 0)), True, False).shape == (2, 0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 20, 20), (2, 2, 17, 17)], ids=str)
def test_equations_and_singular_ones(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, *shape))
    a = (a[0] + 1j * a[1] if dtype[0] == "c" else a[0]).astype(dtype)
    b = rng.normal(size=(*shape[:-1], 3)).astype(dtype)
    before = a.copy()
    x, info = solve(a, b)
    assert info is None
    assert x.dtype == dtype
    np.testing.assert_array_equal(a, before)
    np.testing.assert_allclose(a @ x, b, atol=1e-3 if dtype in ("f4", "c8") else 1e-10)
    a.reshape(-1, *shape[-2:])[-1, :, 0] = 0
    x, info = solve(a, b)
    assert info is not None
    assert info.reshape(-1)[-1] == 1
    assert np.isnan(x.reshape(-1, *b.shape[-2:])[-1]).all()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(9, 9), (9, 4), (3, 4, 9)], ids=str)
def test_pseudoinverses_of_full_rank(shape: tuple[int, ...], dtype: str) -> None:
    a = np.random.default_rng(0).normal(size=shape).astype(dtype)
    found = full_rank_inverse(a, np.zeros(shape[:-2]), np.full(shape[:-2], 1e-5))
    assert found is not None
    assert found.dtype == dtype
    close = 1e-4 if dtype == "f4" else 1e-10
    np.testing.assert_allclose(found, np.linalg.pinv(a), rtol=close, atol=close)


@pytest.mark.parametrize("least", [0.0, 1e-9, 1e-5, np.nan])
def test_ranks_that_are_in_doubt(least: float) -> None:
    a = np.diag([1.0, 1.0, least])
    assert full_rank_inverse(a, np.zeros(()), np.full((), 1e-5)) is None
    assert full_rank_inverse(a[:, 1:], np.full((), 1e-5), np.zeros(())) is None
