"""Common parametrizations."""

from __future__ import annotations

from typing import Any

from wengert.autograd import no_grad
from wengert.core.tensor import Tensor
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
from wengert.ops.matmul import mv


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


__all__ = ["spectral_norm", "weight_norm"]
