"""Outline: the shape, dtype and strides of an array, without its elements."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

Shape = tuple[int, ...]


class Flags(NamedTuple):
    """What is known of the memory of an outline."""

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool


class Outline:
    """Stands where an array is looked for, and has no elements.

    No array: whatever NumPy is asked to do with it raises `refusal`.
    """

    __slots__ = ("dtype", "shape", "strides", "writeable")

    def __init__(
        self, shape: Shape, dtype: np.dtype[Any], strides: Shape, writeable: bool = True
    ) -> None:
        self.shape, self.dtype, self.strides, self.writeable = shape, dtype, strides, writeable

    @property
    def flags(self) -> Flags:
        """How the elements would lie, and whether they may be written."""
        lengths, steps = self.shape, self.strides
        rows = _dense(lengths[::-1], steps[::-1], self.itemsize)
        return Flags(rows, _dense(lengths, steps, self.itemsize), self.writeable)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    def transpose(self, order: Shape) -> Outline:
        """The outline of the same dimensions in another order."""
        shape = tuple([self.shape[d] for d in order])
        return Outline(shape, self.dtype, tuple([self.strides[d] for d in order]), self.writeable)

    def __len__(self) -> int:
        return self.shape[0]

    def refusal(self) -> Exception:
        """What asking for elements raises."""
        return RuntimeError("there are no elements here")

    def shape_refusal(self, name: str) -> Exception:
        """What an operation raises whose result has a shape that depends on elements."""
        return self.refusal()

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise self.refusal()

    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __iter__ = _refuse
    __setitem__ = __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = _refuse
    __mul__ = __rmul__ = __imul__ = __truediv__ = __rtruediv__ = __itruediv__ = _refuse
    __pow__ = __rpow__ = __neg__ = __abs__ = __matmul__ = __rmatmul__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __complex__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()


def _dense(lengths: Shape, steps: Shape, step: int) -> bool:
    """Whether each dimension's step is the extent of those before it."""
    for length, actual in zip(lengths, steps, strict=True):
        if length != 1:
            if actual != step:
                return False
            step *= length
    return True
