"""torch.Size: the shape of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any


class Size(tuple[int, ...]):
    """A tuple of lengths.

    >>> import wengert
    >>> wengert.zeros(2, 3).shape.numel()
    6
    """

    __slots__ = ()

    def __new__(cls, lengths: Iterable[Any] = ()) -> Size:
        if type(lengths) is tuple:  # an array's shape, mostly: nothing to check
            for length in lengths:
                if type(length) is not int:
                    break
            else:
                return tuple.__new__(cls, lengths)
        return tuple.__new__(cls, [_length(i, n) for i, n in enumerate(lengths)])

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def _length(i: int, value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {i} is '{type(value).__name__}')"
        ) from None
