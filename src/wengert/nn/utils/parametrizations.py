"""Common parametrizations."""

from __future__ import annotations

from typing import Any

from wengert.autograd import no_grad
from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.linalg import householder_product, matrix_exp, qr, solve
from wengert.nn.functional import normalize
from wengert.nn.module import Module
from wengert.nn.utils._norms import (
    as_matrix,
    is_transposed,
    norm_except,
    singular_value,
    unit,
    weight_normed,
)
from wengert.nn.utils.parametrize import register_parametrization
from wengert.ops.comparison import allclose
from wengert.ops.decompositions import geqrf
from wengert.ops.joining import cat
from wengert.ops.masking import where
from wengert.ops.matmul import mv
from wengert.tensor.creation import eye, zeros_like
from wengert.tensor.random import randn


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_normed(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction of a weight."""
        return norm_except(weight, self.dim), weight


class _OldKeys:
    """Reads the keys of the older form of weight norm; an object, so that it can be copied."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        old = [f"{prefix}{self.name}_{suffix}" for suffix in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{self.name}.original{i}"
                state_dict[new] = state_dict.pop(key)


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Any:
    """Train a weight as its direction and its norm along `dim`.

    Args:
        module: the module.
        name: its parameter.
        dim: each index along it has its own norm; None means one for all.

    >>> import wengert
    >>> layer = wengert.nn.utils.parametrizations.weight_norm(wengert.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldKeys(name))
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got"
                f" {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got"
                f" n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % ndim, eps, n_power_iterations
        if ndim > 1:
            with no_grad():
                matrix = as_matrix(weight, self.dim)
                height, width = matrix.shape
                u = matrix.new_empty(height).normal_(0, 1)
                v = matrix.new_empty(width).normal_(0, 1)
                self.register_buffer("_u", unit(u, eps))
                self.register_buffer("_v", unit(v, eps))
                self._iterate(matrix, 15)

    def _iterate(self, matrix: Any, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(unit(mv(matrix, self._v), self.eps))
                self._v.copy_(unit(mv(matrix.mH, self._u), self.eps))

    def forward(self, weight: Tensor) -> Any:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # The buffers may be overwritten before this graph is walked.
        return weight / singular_value(matrix, self._u.clone(), self._v.clone())

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value itself, which is divided again."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iteration.

    Args:
        module: the module.
        name: its parameter.
        n_power_iterations: iterations per use of the weight in training mode.
        eps: the smallest norm to divide by.
        dim: the output dimension; None infers it from the kind of module.

    >>> import wengert
    >>> layer = wengert.nn.utils.parametrizations.spectral_norm(wengert.nn.Linear(2, 3))
    >>> bool(abs(layer.weight.norm(2).item()) < 1.5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    along = int(is_transposed(module)) if dim is None else dim
    parametrization = _SpectralNorm(weight, n_power_iterations, along, eps)
    return register_parametrization(module, name, parametrization)


class _Orthogonal(Module):
    """Orthonormal columns (or rows, of wide matrices) from any matrix, by one of three maps."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        wide = X.shape[-2] < X.shape[-1]
        if wide:
            X = X.mT
        Q = _reflected(X) if self.orthogonal_map == "householder" else self._rotated(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _rotated(self, X: Any) -> Any:
        """The first columns of a rotation by the skew matrix that the lower triangle makes."""
        n, k = X.shape[-2:]
        lower = X.tril()
        if n > k:
            lower = cat([lower, lower.new_zeros(*lower.shape[:-1], n - k)], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            return matrix_exp(skew)[..., :k]
        one = eye(n, dtype=X.dtype)
        return solve(one - skew / 2, one + skew / 2)[..., :k]

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        """What is mapped to the nearest orthonormal columns."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of"
                f" shape {Q.shape}."
            )
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            self.base = _completed(tall)
            start = zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley"
                " parametrizations when use_trivialization=False."
            )
        reflectors, tau = geqrf(tall)
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        # Where nothing was reflected, the map reflects a column, and its sign undoes that.
        diagonal.copy_(diagonal.sign() * where(tau == 0, -1, 1))
        return reflectors.mT if wide else reflectors


def _reflected(X: Any) -> Any:
    """The product of the reflections below the diagonal, with the signs that stand on it."""
    vectors = X.tril(-1)
    tau = 2 / (1 + (vectors * vectors).sum(-2))
    return householder_product(vectors, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _completed(Q: Any) -> Any:
    """A square orthogonal matrix whose first columns are those of `Q`, made orthonormal."""
    n, k = Q.shape[-2:]
    if n > k:
        Q = cat([Q, randn(*Q.shape[:-1], n - k, dtype=Q.dtype)], -1)
    elif allclose(Q.mH @ Q, eye(n, dtype=Q.dtype), atol=10 * n * finfo(Q.dtype).eps):
        return Q.clone()
    basis, R = qr(Q)
    return basis * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


_MAPS = ("matrix_exp", "cayley", "householder")


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Module:  # fmt: skip
    """Keep a weight orthogonal: its columns, or the rows of a wide one, orthonormal.

    Args:
        module: the module.
        name: its parameter, a matrix or a batch of some.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; None is the first for square and
            for complex matrices, the last for others.
        use_trivialization: whether a buffer holds a matrix that the map starts from, so that any
            orthogonal value can be assigned.

    >>> import wengert
    >>> layer = wengert.nn.utils.parametrizations.orthogonal(wengert.nn.Linear(2, 3))
    >>> wengert.allclose(layer.weight.mT @ layer.weight, wengert.eye(2), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
    chosen = orthogonal_map or ("matrix_exp" if square else "householder")
    if chosen not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder".'
            f" Got: {orthogonal_map}"
        )
    parametrization = _Orthogonal(weight, chosen, use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
