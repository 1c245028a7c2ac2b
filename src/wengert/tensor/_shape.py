"""Methods that take sizes as separate arguments, transpose attributes, in-place reshaping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.dtypes import dtype as DType
from wengert.core.tensor import Tensor
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import adjoint, hermitian
from wengert.ops.expansion import flip, repeat, tile
from wengert.ops.shape import (
    matrix_transpose,
    permute,
    reinterpreted,
    reshape,
    reversed_dims,
    sizes_of,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unsqueeze,
)
from wengert.ops.shape import view as _view
from wengert.ops.splitting import split
from wengert.tensor._inplace import reshaped_inplace


def _of_sizes(function: Callable[..., Tensor], parameter: str) -> Callable[..., Tensor]:
    """A method that takes sizes as separate arguments, as one sequence, or by name."""
    name = function.__name__

    def method(self: Tensor, *sizes: Any, **named: Any) -> Tensor:
        if sizes and type(sizes[-1]) is int and not named:
            return function(self, sizes)
        if parameter in named:
            sizes = (named.pop(parameter), *sizes)
        elif not sizes:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{parameter}"')
        return function(self, sizes_of(sizes), **named)

    method.__name__ = method.__qualname__ = name
    return method


def view(self: Tensor, *given: Any, size: Any = None, dtype: DType | None = None) -> Tensor:
    """View the same memory in another shape, or as elements of another dtype.

    RuntimeError if the strides do not allow that shape without a copy.

    >>> import wengert
    >>> wengert.tensor([1, 2, 3, 4]).view(2, -1)
    tensor([[1, 2],
            [3, 4]])
    """
    if size is None and dtype is None:
        if not given:
            raise TypeError('view() missing 1 required positional arguments: "size"')
        size = given if type(given[-1]) is int else sizes_of(given)
        if isinstance(size, DType):
            dtype = size
    if dtype is not None:
        return reinterpreted(self, dtype)
    return _view(self, size)


_DOCS = {
    "reshape": (
        "shape",
        """The elements in another shape, as `wengert.reshape`; a view where that is possible.

    >>> import wengert
    >>> wengert.tensor([[1, 2], [3, 4]]).reshape(-1)
    tensor([1, 2, 3, 4])
    """,
    ),
    "permute": (
        "dims",
        """The dimensions in another order, as a view.

    >>> import wengert
    >>> wengert.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """,
    ),
    "expand": (
        "size",
        """A view with dimensions of length 1 repeated to the given lengths; -1 keeps a length.

    >>> import wengert
    >>> wengert.tensor([[1], [2]]).expand(-1, 2)
    tensor([[1, 1],
            [2, 2]])
    """,
    ),
    "repeat": (
        "repeats",
        """Repeat the tensor that many times along each dimension; new dimensions come first.

    >>> import wengert
    >>> wengert.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """,
    ),
    "tile": (
        "dims",
        """Repeat the tensor; the numbers are aligned with the last dimension.

    >>> import wengert
    >>> wengert.tensor([1, 2]).tile(2)
    tensor([1, 2, 1, 2])
    """,
    ),
    "flip": (
        "dims",
        """A copy with the elements in reverse order along the given dimensions.

    >>> import wengert
    >>> wengert.tensor([1, 2, 3]).flip(0)
    tensor([3, 2, 1])
    """,
    ),
}


def _squeeze_method(self: Tensor, *dim: Any, **named: Any) -> Tensor:
    """The tensor without dimensions of length 1: all of them, or those named.

    >>> import wengert
    >>> wengert.zeros(1, 3, 1).squeeze().shape
    torch.Size([3])
    """
    if named or not dim:
        return squeeze(self, **named)
    return squeeze(self, dim[0] if len(dim) == 1 else dim)


def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `split_size` elements along a dimension, or of a list of sizes.

    >>> import wengert
    >>> wengert.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return split(self, split_size, dim)


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in (reshape, permute, expand, repeat, tile, flip):
        parameter, text = _DOCS[function.__name__]
        method = _of_sizes(function, parameter)
        method.__doc__ = text
        setattr(define, function.__name__, method)
    define.view = view
    define.split = _split_method
    define.squeeze = _squeeze_method
    for same in (squeeze, unsqueeze, t, transpose, swapaxes, swapdims):
        name = f"{same.__name__}_"
        setattr(define, name, reshaped_inplace(same, name))
    define.T = property(reversed_dims, doc="All dimensions in reverse order.")
    define.mT = property(lambda self: matrix_transpose(self, "mT"), doc="Matrices transposed.")
    define.H = property(hermitian, doc="The conjugate transpose of a matrix.")
    define.mH = property(adjoint, doc="Matrices transposed and conjugated.")
