"""`wengert.linalg`: what its results are called and how they print, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops.calls import lookup

A = np.array([[4.0, 1.0], [1.0, 3.0]])
RESULTS: list[tuple[str, tuple[np.ndarray, ...]]] = [
    ("linalg.cholesky_ex", (A,)),
    ("linalg.eigh", (A,)),
    ("linalg.inv_ex", (A,)),
    ("linalg.lu", (A,)),
    ("linalg.lu_factor", (A,)),
    ("linalg.lu_factor_ex", (A,)),
    ("linalg.slogdet", (A,)),
    ("linalg.solve_ex", (A, A)),
    ("slogdet", (A,)),
    ("triangular_solve", (A, A)),
    ("lu_unpack", (A, np.array([1, 2], np.int32))),
]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.* is deprecated")
@pytest.mark.parametrize(("name", "arrays"), RESULTS, ids=[name for name, _ in RESULTS])
def test_results_have_torchs_fields_and_print_alike(
    name: str, arrays: tuple[np.ndarray, ...], torch: Any
) -> None:
    def result(library: Any) -> Any:
        return lookup(library, name)(*(library.from_numpy(a.copy()) for a in arrays))

    ours, theirs = result(wengert), result(torch)
    assert repr(ours) == repr(theirs)
    assert all(hasattr(theirs, field) for field in ours.__match_args__)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["eig", "qr", "svd"])
def test_decompositions_put_together_give_the_matrix(name: str, torch: Any) -> None:
    ours = getattr(wengert.linalg, name)(wengert.from_numpy(A))
    theirs = getattr(torch.linalg, name)(torch.from_numpy(A))
    assert all(hasattr(theirs, field) for field in ours.__match_args__)
    assert type(ours).__name__ == type(theirs).__name__.split(".")[-1]
    if name == "qr":
        product = ours.Q @ ours.R
    elif name == "svd":
        product = ours.U * ours.S @ ours.Vh
    else:
        product = (ours.eigenvectors * ours.eigenvalues) @ ours.eigenvectors.inverse()
    np.testing.assert_allclose(product.numpy(), A, rtol=1e-12, atol=1e-14)


def test_one_singular_matrix_among_others_is_named() -> None:
    matrices = wengert.stack([wengert.eye(2), wengert.ones(2, 2)])
    with pytest.raises(wengert.linalg.LinAlgError, match=r"\(Batch element 1\)"):
        wengert.linalg.inv(matrices)
    inverse, info = wengert.linalg.inv_ex(matrices)
    assert info.tolist() == [0, 2]
    np.testing.assert_array_equal(inverse[0].numpy(), np.eye(2))
    assert inverse[1].isnan().all()


def test_an_error_of_linear_algebra_is_a_runtime_error() -> None:
    assert issubclass(wengert.linalg.LinAlgError, RuntimeError)


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["complete", "r"])
def test_qr_refuses_derivatives_that_it_does_not_have(mode: str, torch: Any) -> None:
    for library in (torch, wengert):
        x = library.ones(3, 2, requires_grad=True)
        loss = library.linalg.qr(x, mode).R.sum()
        with pytest.raises(RuntimeError, match="mode="):
            loss.backward()


def test_the_gradient_of_a_determinant_of_zero_is_that_of_its_cofactors() -> None:
    x = wengert.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=wengert.float64, requires_grad=True)
    wengert.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], rtol=1e-12)


@pytest.mark.torch
def test_results_lie_in_memory_of_their_own(torch: Any) -> None:
    for name in ("complex64", "float64"):
        u, s, v = wengert.linalg.svd(wengert.ones(2, 3, 3, dtype=getattr(wengert, name)))
        expected = torch.linalg.svd(torch.ones(2, 3, 3, dtype=getattr(torch, name)))
        assert [t.stride() for t in (u, s, v)] == [t.stride() for t in expected]
        assert s.view(-1).shape == (6,)
        assert s.untyped_storage().nbytes() == s.nbytes


@pytest.mark.torch
@pytest.mark.parametrize("triangle", ["L", "U"])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_the_gradient_of_eigh_is_hermitian(kind: str, triangle: str, torch: Any) -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(size=(2, 3, 3)).astype(kind)
    if kind == "complex128":
        array += 1j * rng.normal(size=(2, 3, 3))
    array = array + np.conj(np.swapaxes(array, -1, -2))
    results = []
    for library in (wengert, torch):
        matrices = library.tensor(array, requires_grad=True)
        values, vectors = library.linalg.eigh(matrices, UPLO=triangle)
        weights = library.arange(18.0, dtype=library.float64).reshape(2, 3, 3)
        loss = (abs(vectors) ** 2 * weights).sum() + (values * weights[0, 0]).sum()
        (g,) = library.autograd.grad(loss, matrices, create_graph=True)
        (second,) = library.autograd.grad((abs(g) ** 2 * weights).sum(), matrices)
        results.append([g.detach().numpy(), second.numpy()])
    np.testing.assert_allclose(results[0][0], np.conj(np.swapaxes(results[0][0], -1, -2)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


EQUAL = {  # losses of the values alone, of matrices whose values are equal or zero
    "eigh": lambda linalg, a: linalg.eigh(a)[0].square().sum(),
    "svd": lambda linalg, a: linalg.svd(a)[1].square().sum(),
    "svd of a wide one": lambda linalg, a: linalg.svd(a[:2])[1].sum(),
    "reduced svd of a tall one": lambda linalg, a: linalg.svd(a[:, :2], full_matrices=False)[
        1
    ].sum(),
    "eig": lambda linalg, a: linalg.eig(a)[0].abs().square().sum(),
}


@pytest.mark.torch
@pytest.mark.parametrize("kind", EQUAL)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_equal_values(kind: str, dtype: str, torch: Any) -> None:
    for numbers in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [2.0, 1.0, 2.0]):
        if kind == "eig" and not numbers[0]:
            continue  # the absolute value has no gradient there
        gradients = []
        for library in (wengert, torch):
            diagonal = library.tensor(numbers, dtype=getattr(library, dtype))
            a = library.diag(diagonal).requires_grad_()
            EQUAL[kind](library.linalg, a).backward()
            gradients.append(a.grad.numpy())
        np.testing.assert_allclose(*gradients, rtol=1e-12, atol=1e-12)
        assert np.isfinite(gradients[0]).all()


def test_derivatives_of_the_exponential_beside_large_cotangents() -> None:
    """A cotangent of e^40 takes no digit from the matrix beside it."""
    a = np.linspace(10, 20, 3)
    x = wengert.tensor(np.diag(a), requires_grad=True)
    y = wengert.linalg.matrix_exp(x).diagonal()
    (first,) = wengert.autograd.grad(y.square().sum(), x, create_graph=True)
    (second,) = wengert.autograd.grad(first.diagonal().square().sum(), x)
    np.testing.assert_allclose(first.detach().diagonal().numpy(), 2 * np.exp(2 * a), rtol=1e-10)
    np.testing.assert_allclose(second.diagonal().numpy(), 16 * np.exp(4 * a), rtol=1e-10)
