"""torch.Size: the shape of a tensor."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """A tuple of lengths.

    >>> import wengert
    >>> wengert.zeros(2, 3).shape.numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))
