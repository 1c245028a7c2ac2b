"""Flattening dimensions into one, and the inverse."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn.module import Module


class Flatten(Module):
    """Flattens the dimensions from `start_dim` to `end_dim` into one.

    Args:
        start_dim: first dimension that is joined.
        end_dim: last dimension that is joined.

    >>> import wengert
    >>> wengert.nn.Flatten()(wengert.zeros(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several.

    Args:
        dim: the dimension that is split, by number or name.
        unflattened_size: the sizes that it becomes; one may be -1.

    >>> import wengert
    >>> wengert.nn.Unflatten(1, (2, 5))(wengert.zeros(3, 10)).shape
    torch.Size([3, 2, 5])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, str):
            raise TypeError("Unflatten: argument 'dim' must be int, dimensions have no names here")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type"
                f" {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type"
                    f" {type(size).__name__} at pos {i}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__all__ = ["Flatten", "Unflatten"]
