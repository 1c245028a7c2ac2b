"""Broadcasting: common shapes, and tensors expanded to a shape."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any

import numpy as np

from wengert.core.size import Size
from wengert.core.storage import address_of
from wengert.core.tensor import Tensor
from wengert.ops.batching import Batch
from wengert.ops.declare import Value, multilinear
from wengert.ops.operands import sum_to
from wengert.ops.shape import padded
from wengert.ops.variadic import as_sequence, require_tensor

Shape = tuple[int, ...]


def _expand_batch(b: Batch) -> Value:
    size = _completed(b.shape("input"), tuple(b.params["size"]))
    check_expandable(b.shape("input"), size)
    return b(input=padded(b.values["input"], len(size)), size=(b.size, *size))


@multilinear(input=lambda g, input_shape: sum_to(g, input_shape), view=True, batch=_expand_batch)
def expand(input: Value, size: Sequence[int], *, implicit: bool = False) -> Value:
    """A view with dimensions of length 1 repeated to the given lengths; -1 keeps a length."""
    lengths, strides = _expansion(input.shape, input.strides, tuple(map(index, size)))
    if strides is None:
        return input.reshape(lengths)
    out = _repeated(input, lengths, strides)
    if out.flags.writeable != input.flags.writeable:
        out.flags.writeable = input.flags.writeable
    return out


@lru_cache(4096)
def _expansion(shape: Shape, strides: Shape, size: Shape) -> tuple[Shape, Shape | None]:
    """The shape and the strides of an expanded array; None for them if no element is repeated."""
    size = _completed(shape, size)
    check_expandable(shape, size)
    if prod(size) == prod(shape):
        return size, None
    return size, _repeating(shape, strides, len(size))


def _repeating(shape: Shape, strides: Shape, rank: int) -> Shape:
    """The strides of an array of that rank that repeats dimensions of length 1."""
    own = [0 if n == 1 else s for n, s in zip(shape, strides, strict=True)]
    return (*(0,) * (rank - len(shape)), *own)


def repeated(array: np.ndarray, size: Shape) -> np.ndarray:
    """`np.broadcast_to`, which takes ten times as long where the memory has a buffer."""
    return _repeated(array, size, _repeating(array.shape, array.strides, len(size)))


def _repeated(array: np.ndarray, size: Shape, strides: Shape) -> np.ndarray:
    memory = array if array.base is None else array.base
    builtin = array.dtype.isbuiltin == 1 and type(memory) is np.ndarray  # others have no buffer
    if not builtin or memory.dtype.isbuiltin != 1 or not memory.flags.c_contiguous:
        return np.broadcast_to(array, size)
    offset = 0 if memory is array else address_of(array) - address_of(memory)
    return np.ndarray(size, array.dtype, memory, offset, strides)


def _completed(shape: Shape, size: Shape) -> Shape:
    """The size with each -1 replaced by the length it keeps."""
    lead = len(size) - len(shape)
    if -1 not in size or lead < 0:
        return size
    completed = [m if n == -1 else n for n, m in zip(size[lead:], shape, strict=True)]
    return (*size[:lead], *completed)


def check_expandable(shape: Shape, size: Shape) -> None:
    """Raise RuntimeError unless `shape` broadcasts to `size`."""
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(): the number of sizes provided ({len(size)}) must be greater or equal to the"
            f" number of dimensions in the tensor ({len(shape)}): size {list(size)} for a tensor"
            f" of shape {list(shape)}"
        )
    for d, n in enumerate(size):
        if d < lead:
            if n < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) isn't allowed in a leading,"
                    f" non-existing dimension {d}"
                )
        elif shape[d - lead] not in (1, n) or n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size"
                f" ({shape[d - lead]}) at non-singleton dimension {d}.  Target sizes: {list(size)}."
                f"  Tensor sizes: {list(shape)}"
            )


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The input expanded to the shape of `other`.

    >>> import wengert
    >>> wengert.tensor([1, 2]).expand_as(wengert.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    require_tensor("expand_as", "other", other, 2)
    return expand(input, other._outline.shape)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """The input expanded to a shape, as a view.

    >>> import wengert
    >>> wengert.broadcast_to(wengert.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, size)


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that these shapes broadcast to; a number counts as a one-dimensional shape.

    >>> import wengert
    >>> wengert.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    tuples = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * builtins.max((len(s) for s in tuples), default=0)
    for k, shape in enumerate(tuples):
        for d in range(-len(shape), 0):
            n = shape[d]
            if n < 0:
                raise ValueError(
                    f"Attempting to broadcast a dimension with negative length! {shape} has {n}"
                )
            if n == 1 or n == result[d]:
                continue
            if result[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {d}! Mismatching"
                    f" argument at index {k} had {shape}; but expected shape should be"
                    f" broadcastable to {result}"
                )
            result[d] = n
    return Size(result)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, expanded to their common shape; one that has it is itself.

    >>> import wengert
    >>> a, b = wengert.broadcast_tensors(wengert.zeros(2, 1), wengert.zeros(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    several = listed("broadcast_tensors", tensors)
    shape: Shape = ()
    for x in several:
        own_shape = x._outline.shape
        if own_shape == shape or not own_shape:
            continue
        if not shape:
            shape = own_shape
            continue
        try:
            shape = np.broadcast_shapes(shape, own_shape)
        except ValueError:
            d, a, b = _mismatch(shape, own_shape)
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at"
                f" non-singleton dimension {d}; broadcast_tensors() got shapes"
                f" {[list(y._outline.shape) for y in several]}"
            ) from None
    return tuple([x if x._outline.shape == shape else expand(x, shape) for x in several])


def _mismatch(a: Shape, b: Shape) -> tuple[int, int, int]:
    rank = builtins.max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return next((d, m, n) for d, (m, n) in enumerate(pairs) if m != n and 1 not in (m, n))


def listed(name: str, arguments: tuple[Any, ...]) -> Sequence[Tensor]:
    """The tensors of a call with several arguments or with one list."""
    several = (
        arguments[0]
        if len(arguments) == 1 and isinstance(arguments[0], (list, tuple))
        else arguments
    )
    for k, x in enumerate(as_sequence(name, several)):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0 of {name}(), but got"
                f" {type(x).__name__}"
            )
    return several


__all__ = ["broadcast_shapes", "broadcast_tensors", "broadcast_to"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("broadcast_to", "expand_as")
INPLACE: tuple[str, ...] = ()
