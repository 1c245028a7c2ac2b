"""`svd_lowrank` and `pca_lowrank` against PyTorch's and the full decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((9, 3)) @ RNG.standard_normal((3, 5))  # of rank 3


@pytest.mark.torch
@pytest.mark.parametrize("matrix", [TALL, TALL.T, np.stack([TALL, 2 * TALL])])
@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
def test_factors(torch: Any, name: str, matrix: np.ndarray) -> None:
    found = []
    for library in (wengert, torch):
        left, values, right = getattr(library, name)(library.from_numpy(matrix.copy()), 4)
        found.append(values.numpy())
        shown = (left * values.unsqueeze(-2)) @ right.mH
        centered = matrix - matrix.mean(-2, keepdims=True) if name == "pca_lowrank" else matrix
        np.testing.assert_allclose(shown.numpy(), centered, atol=1e-12)
        np.testing.assert_allclose(
            (right.mH @ right).numpy()[..., :2, :2] - np.eye(2), 0, atol=1e-10
        )
    np.testing.assert_allclose(found[0][..., :2], found[1][..., :2], 1e-10)
    assert found[0].shape == found[1].shape


def test_what_is_subtracted_and_gradients() -> None:
    x = wengert.from_numpy(TALL.copy()).requires_grad_(True)
    _, values, _ = wengert.svd_lowrank(x, 4, M=wengert.ones(5, dtype=wengert.float64))
    expected = wengert.linalg.svdvals(x - 1)
    np.testing.assert_allclose(values.detach().numpy(), expected.detach().numpy()[:4], atol=1e-10)
    g, h = (wengert.autograd.grad(s[:2].sum(), x)[0].numpy() for s in (values, expected))
    np.testing.assert_allclose(g, h, atol=1e-8)


@pytest.mark.torch
@pytest.mark.parametrize("kwargs", [{"q": 9}, {"q": -1}, {"q": 2, "niter": -1}])
def test_errors(torch: Any, kwargs: dict[str, int]) -> None:
    for library in (wengert, torch):
        with pytest.raises(ValueError, match="must be non-negative integer"):
            library.pca_lowrank(library.ones(6, 4), **kwargs)


@pytest.mark.torch
def test_standard_gamma_has_pytorchs_moments_and_gradient(torch: Any) -> None:
    for library in (wengert, torch):
        x = library.full((20000,), 2.5, requires_grad=True)
        y = library._standard_gamma(x, library.Generator().manual_seed(3))
        assert abs(y.mean().item() - 2.5) < 0.05
        y.sum().backward()
        assert abs(x.grad.mean().item() - 1) < 0.05


def symmetric(m: int, dtype: Any = np.float64) -> np.ndarray:
    a = np.random.default_rng(m).standard_normal((m, m))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * np.random.default_rng(m + 1).standard_normal((m, m))
    return ((a + a.conj().T) / 2).astype(dtype)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_lobpcg(torch: Any, dtype: Any, largest: bool, shape: tuple[int, ...]) -> None:
    a = np.broadcast_to(symmetric(30, dtype), (*shape, 30, 30)).copy()
    results = [t.lobpcg(t.from_numpy(a), 3, largest=largest) for t in (wengert, torch)]
    (values, vectors), (expected, directions) = results
    tolerance = 1e-4 if dtype == np.float32 else 1e-6
    exact = wengert.linalg.eigvalsh(wengert.from_numpy(a)).numpy()
    exact = exact[..., ::-1][..., :3] if largest else exact[..., :3]
    np.testing.assert_allclose(values.numpy(), exact, tolerance, tolerance)
    np.testing.assert_allclose(values.numpy(), expected.numpy(), tolerance, tolerance)
    assert (values.dtype.name, vectors.shape) == (np.dtype(dtype).name, directions.shape)
    residual = a @ vectors.numpy() - vectors.numpy() * values.numpy()[..., None, :]
    assert np.abs(residual).max() < 1e-2


def test_lobpcg_of_a_pencil_of_sparse_and_complex_matrices() -> None:
    a = wengert.from_numpy(symmetric(40))
    b = wengert.from_numpy(symmetric(40)) @ a / 40 + 5 * wengert.eye(40, dtype=wengert.float64)
    start = wengert.randn(40, 2, dtype=wengert.float64)
    values, vectors = wengert.lobpcg(a, B=b, X=start, tol=1e-9)
    np.testing.assert_allclose((a @ vectors).numpy(), (b @ vectors * values).numpy(), atol=1e-5)
    for other in (a.to_sparse(), a.to_sparse_csr()):
        found, _ = wengert.lobpcg(other, B=b, X=start, tol=1e-9)
        np.testing.assert_allclose(found.numpy(), values.numpy(), 1e-8)
    hermitian = wengert.from_numpy(symmetric(20, np.complex128))
    values, _ = wengert.lobpcg(hermitian, k=2)
    expected = wengert.linalg.eigvalsh(hermitian)[-2:].flip(0)
    np.testing.assert_allclose(values.numpy(), expected.numpy(), 1e-6)


def test_lobpcg_refuses() -> None:
    x = wengert.eye(9)
    with pytest.raises(ValueError, match="smaller than 3 x"):
        wengert.lobpcg(x, k=4)
    with pytest.raises(RuntimeError, match="no derivative"):
        wengert.lobpcg(x.requires_grad_())
    with pytest.raises(NotImplementedError, match="tracker"):
        wengert.lobpcg(x.detach(), tracker=print)
    with pytest.raises(ValueError, match="method"):
        wengert.lobpcg(x.detach(), method="fast")
    with pytest.raises(TypeError, match="must be Tensor"):
        wengert.lobpcg([[1.0]])
