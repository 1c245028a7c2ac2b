"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.ops import joining


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all parameters, flattened.

    >>> import wengert
    >>> layer = wengert.nn.Linear(2, 3)
    >>> wengert.nn.utils.parameters_to_vector(layer.parameters()).shape
    torch.Size([9])
    """
    flat: list[Any] = [p.reshape(-1) for p in parameters]
    return joining.cat(flat)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to the pieces of a vector; they then share its memory.

    >>> import wengert
    >>> layer = wengert.nn.Linear(2, 1, bias=False)
    >>> wengert.nn.utils.vector_to_parameters(wengert.tensor([1.0, 2.0]), layer.parameters())
    >>> layer.weight.data
    tensor([[1., 2.]])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        shape = p._outline.shape
        stop = start + p._outline.size
        if stop > vec._outline.size:
            raise RuntimeError(
                f"shape '{list(shape)}' is invalid for input of size {vec._outline.size - start}:"
                " the vector is shorter than the parameters together"
            )
        p.data = vec.data[start:stop].reshape(shape)
        start = stop


__all__ = ["parameters_to_vector", "vector_to_parameters"]
