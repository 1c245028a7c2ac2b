"""The norms of PyTorch's oldest functions, which also accept the names of matrix norms."""

from __future__ import annotations

from wengert.core.dtypes import dtype as DType
from wengert.core.tensor import Tensor
from wengert.kernels.axes import Dims
from wengert.ops.matrix_functions import matrix_norm
from wengert.ops.reduction import p_norm
from wengert.ops.variadic import require_tensor


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm of the elements over `dim`, or over everything; "fro" is p=2.

    p=0 counts nonzero elements, and p=inf takes the largest magnitude. "nuc" is the sum of the
    singular values of a matrix, or of the matrices in two dimensions.

    >>> import wengert
    >>> wengert.norm(wengert.tensor([3.0, 4.0]))
    tensor(5.)
    """
    require_tensor("norm", "input", input)
    if p is None or p == "fro":
        p = 2.0
    elif isinstance(p, str):
        return _nuclear_norm(input, p, dim, keepdim, dtype)
    return p_norm(input, p, dim, keepdim, dtype)


def _nuclear_norm(input: Tensor, p: str, dim: Dims, keepdim: bool, dtype: DType | None) -> Tensor:
    if p != "nuc":
        raise RuntimeError(f"norm(): argument 'p' is {p!r}, expected a number, 'fro' or 'nuc'")
    if dim is None and input.ndim != 2:
        raise RuntimeError(
            f"norm(): with p='nuc' and no dim, input must have 2 dimensions, got {input.ndim}"
        )
    dims = (dim,) if isinstance(dim, int) else (-2, -1) if dim is None else tuple(dim)
    return matrix_norm(input, p, dims, keepdim, dtype=dtype)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors, which broadcast.

    >>> import wengert
    >>> wengert.dist(wengert.tensor([1.0, 2.0]), wengert.tensor([4.0, 6.0]))
    tensor(5.)
    """
    require_tensor("dist", "input", input)
    require_tensor("dist", "other", other, 2)
    return norm(input - other, p)


__all__ = ["dist", "norm"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE: tuple[str, ...] = ()
