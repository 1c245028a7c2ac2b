"""Operations: parts of a tensor along a dimension, all of them views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from operator import index as _index
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.kernels.axes import axis_of, moved
from wengert.kernels.layout import copy_with_gaps
from wengert.ops.casting import convert
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.joining import cat, stack
from wengert.ops.numpy_names import MISSING, either, require_arguments
from wengert.ops.outputs import write_out
from wengert.ops.shape import dtype_of
from wengert.ops.subscript import basic, slice_vjp
from wengert.ops.variadic import require_tensor, required_outline, with_outputs
from wengert.ops.zeros import or_zeros

Key = tuple[Any, ...]


def _key(axis: int, item: Any) -> Key:
    return (*(slice(None),) * axis, item)


@multilinear(
    input=lambda g, input_shape, dim, index: slice_vjp(
        g, input_shape, _key(dim % len(input_shape), index)
    ),
    view=True,
    batch=lambda b: b(dim=axis_of(b.params["dim"], b.rank("input")) + 1),
)
def select(input: Value, dim: int, index: int) -> Value:
    """The slice at one index of a dimension, without that dimension; a view.

    >>> import wengert
    >>> wengert.select(wengert.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if type(dim) is int and dim == 0 and 0 <= index < len(input):
        return input[index, ...]
    d = axis_of(dim, input.ndim)
    if not -input.shape[d] <= index < input.shape[d]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at"
            f" dimension {d}"
        )
    return input[(*_key(d, index), ...)]


def _start(start: Tensor) -> int:
    if start._outline.ndim or start._outline.dtype.kind not in "iu":
        raise RuntimeError(
            "narrow(): start must be an 0-dim integral Tensor, but got one of dtype"
            f" {start.dtype} and shape {list(start._outline.shape)}"
        )
    return int(start._array)


def narrow(
    input: Tensor,
    dim: int = MISSING,
    start: Any = MISSING,
    length: int = MISSING,
    *,
    axis: int | None = None,
) -> Tensor:
    """`length` slices of a dimension starting at `start`, as a view.

    >>> import wengert
    >>> wengert.narrow(wengert.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    if axis is not None or dim is MISSING or start is MISSING or length is MISSING:
        dim = either("narrow", "dim", dim, axis, MISSING)
        require_arguments("narrow", dim=dim, start=start, length=length)
    require_tensor("narrow", "input", input)
    shape = input.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative. Got {length}")
    d = axis_of(dim, len(shape))
    n = shape[d]
    first = _start(start) if isinstance(start, Tensor) else _index(start)
    if not -n <= first <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {first})"
        )
    first += n if first < 0 else 0
    if first + length > n:
        raise RuntimeError(
            f"start ({first}) + length ({length}) exceeds dimension size ({n}). narrow() of"
            f" dimension {d}"
        )
    return basic(input, _key(d, slice(first, first + length)))


def _piece(k: int, shapes: list[tuple[int, ...]], dim: int) -> Key:
    start = sum([shape[dim] for shape in shapes[:k]])
    return _key(dim, slice(start, start + shapes[k][dim]))


@with_outputs(
    "SplitBackward0",
    lambda gs, dim: cat(gs, dim),
    key=_piece,
    place=slice_vjp,
    batch=lambda sizes, dim: (sizes, dim + 1),
)
def _split(array: np.ndarray, sizes: Sequence[int], dim: int) -> tuple[list[np.ndarray], int]:
    lead, start = (slice(None),) * dim, 0
    pieces = []
    for n in sizes:
        pieces.append(array[(*lead, slice(start, start + n))])
        start += n
    return pieces, dim


@with_outputs(
    "UnbindBackward0",
    lambda gs, dim: stack(gs, dim),
    key=lambda k, shapes, dim: _key(dim, k),
    place=slice_vjp,
    batch=lambda dim: (dim + 1,),
)
def _unbind(array: np.ndarray, dim: int) -> tuple[list[np.ndarray], int]:
    first = array.swapaxes(0, dim) if dim < 2 else moved(array, dim, 0)
    return [first[k, ...] for k in range(len(first))], dim


def unbind(input: Tensor, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """The slices along a dimension, without that dimension.

    >>> import wengert
    >>> wengert.unbind(wengert.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if axis is not None:
        dim = either("unbind", "dim", dim, axis, 0)
    rank = required_outline("unbind", "input", input).ndim
    if not rank:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions: unbind()")
    outputs: tuple[Tensor, ...] = _unbind(input, axis_of(dim, rank))
    return outputs


def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Split along a dimension into parts of one size (the last may be smaller) or of given sizes.

    >>> import wengert
    >>> wengert.split(wengert.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    shape = required_outline("split", "tensor", tensor).shape
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    size = split_size_or_sections
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = axis_of(dim, len(shape))
    n = shape[d]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and n:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        )
    return _parts(tensor, _even_sizes(n, size), d)


def _parts(tensor: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    outputs: tuple[Tensor, ...] = _split(tensor, sizes, dim)
    return outputs


@lru_cache(256)  # compiled functions compare the same sizes faster than equal ones
def _even_sizes(n: int, size: int) -> tuple[int, ...]:
    if size == 0 or n == 0:
        return (n,)
    whole, rest = divmod(n, size)
    return (size,) * whole + (rest,) * (rest > 0)


def split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """Split along a dimension into parts of the given sizes.

    >>> import wengert
    >>> wengert.split_with_sizes(wengert.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    if axis is not None:
        dim = either("split_with_sizes", "dim", dim, axis, 0)
    require_tensor("split_with_sizes", "input", input)
    if not isinstance(split_sizes, (list, tuple)):
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not"
            f" {type(split_sizes).__name__}"
        )
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = axis_of(dim, input.ndim)
    sizes, n = list(split_sizes), input.shape[d]
    if any(s < 0 for s in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got"
            f" split_sizes={sizes}"
        )
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at"
            f" dimension {d}), but got split_sizes={sizes}"
        )
    return _parts(input, sizes, d)


def chunk(
    input: Tensor, chunks: int, dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """Split along a dimension into at most `chunks` equal parts; the last may be smaller.

    >>> import wengert
    >>> wengert.chunk(wengert.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if axis is not None:
        dim = either("chunk", "dim", dim, axis, 0)
    shape = required_outline("chunk", "input", input).shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = axis_of(dim, len(shape))
    n = shape[d]
    return _parts(input, _even_sizes(n, ceil(n / chunks)) if n else (0,) * chunks, d)


def tensor_split(
    input: Tensor,
    indices_or_sections: int | Sequence[int] | Tensor,
    dim: int = 0,
    *,
    axis: int | None = None,
) -> tuple[Tensor, ...]:
    """Split into parts of nearly equal size, or at the given indices.

    >>> import wengert
    >>> wengert.tensor_split(wengert.tensor([1, 2, 3]), (1,))
    (tensor([1]), tensor([2, 3]))
    """
    if axis is not None:
        dim = either("tensor_split", "dim", dim, axis, 0)
    require_tensor("tensor_split", "input", input)
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = axis_of(dim, input.ndim)
    n = input.shape[d]
    at: Any = indices_or_sections
    if isinstance(at, Tensor):
        if at._outline.ndim > 1 or at._outline.dtype != np.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or"
                " one-dimensional int64 tensor, got shape"
                f" {list(at._outline.shape)} and {at._outline.dtype.name}"
            )
        at = at._array.tolist()
    if not isinstance(at, int):
        ends = [slice(None, i).indices(n)[1] for i in at]
        return tuple(
            [
                basic(input, _key(d, slice(a, max(a, b))))
                for a, b in zip([0, *ends], [*ends, n], strict=True)
            ]
        )
    if at <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {at}")
    return _parts(input, [n // at + (k < n % at) for k in range(at)], d)


def _numpy_split(
    name: str, input: Tensor, at: int | Sequence[int], dim: int, rank: int
) -> tuple[Tensor, ...]:
    require_tensor(name, "input", input)
    if input.ndim < rank:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {rank} dimension, but got a tensor with"
            f" {input.ndim} dimensions!"
        )
    if isinstance(at, int) and (at == 0 or input.shape[dim] % at):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension"
            f" {input.shape[dim]} is not divisible by the split_size {at}!"
        )
    return tensor_split(input, at, dim)


def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` into equal parts along the columns (a vector's only dimension).

    >>> import wengert
    >>> wengert.hsplit(wengert.tensor([1, 2]), 2)
    (tensor([1]), tensor([2]))
    """
    require_tensor("hsplit", "input", input)
    return _numpy_split("hsplit", input, indices_or_sections, min(1, max(input.ndim - 1, 0)), 1)


def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` into equal parts along the rows.

    >>> import wengert
    >>> wengert.vsplit(wengert.tensor([[1], [2]]), 2)
    (tensor([[1]]), tensor([[2]]))
    """
    return _numpy_split("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` into equal parts along the third dimension.

    >>> import wengert
    >>> len(wengert.dsplit(wengert.zeros(1, 1, 4), 2))
    2
    """
    return _numpy_split("dsplit", input, indices_or_sections, 2, 3)


def select_scatter(
    input: Tensor, src: Tensor, dim: int = MISSING, index: int = MISSING, *, axis: int | None = None
) -> Tensor:
    """A copy of the input with one slice of a dimension replaced by `src`.

    >>> import wengert
    >>> wengert.select_scatter(wengert.zeros(2, 2), wengert.tensor([1.0, 2.0]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
    """
    if axis is not None or dim is MISSING or index is MISSING:
        dim = either("select_scatter", "dim", dim, axis, MISSING)
        require_arguments("select_scatter", dim=dim, index=index)
    require_tensor("select_scatter", "input", input)
    require_tensor("select_scatter", "src", src, 2)
    target = select(input, dim, index)
    return _placed("select_scatter", input, src, target, _key(axis_of(dim, input.ndim), index))


def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the input with a slice of a dimension replaced by `src`.

    >>> import wengert
    >>> wengert.slice_scatter(wengert.zeros(3), wengert.tensor([1.0, 2.0]), start=1)
    tensor([0., 1., 2.])
    """
    if axis is not None:
        dim = either("slice_scatter", "dim", dim, axis, 0)
    if out is not None:
        return write_out(slice_scatter, out, input, src, dim, start, end, step)
    require_tensor("slice_scatter", "input", input)
    require_tensor("slice_scatter", "src", src, 2)
    key = _key(axis_of(dim, input.ndim), slice(start, end, step))
    return _placed("slice_scatter", input, src, basic(input, key), key)


def _placed(name: str, input: Tensor, src: Tensor, target: Tensor, key: Key) -> Tensor:
    if src.shape != target.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size ="
            f" {list(src.shape)}, slice size = {list(target.shape)} in {name}()"
        )
    return with_part(input, convert(src, input.dtype), key)


@primitive(
    input=lambda g, src_shape, key: with_part(g, np.zeros(src_shape, dtype_of(g)), key),
    src=lambda g, key: basic(g, key),
    batch=lambda b: b(
        input=b.whole("input"), src=b.whole("src"), key=(slice(None), *b.params["key"])
    ),
    jvp=lambda d_input, d_src, input, src, key: with_part(
        or_zeros(d_input, input), or_zeros(d_src, src), key
    ),
    label="SliceScatterBackward0",
    name="slice_scatter",
)
def with_part(input: Value, src: Value, key: Key) -> Value:
    """A copy of the input with a part replaced by `src`, which has its shape."""
    out = copy_with_gaps(input)
    out[key] = src
    return out


def unsafe_split(
    input: Tensor, split_size: int, dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """`split`; writing to one part is always safe here.

    >>> import wengert
    >>> wengert.unsafe_split(wengert.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if axis is not None:
        dim = either("unsafe_split", "dim", dim, axis, 0)
    return split(input, split_size, dim)


def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """`split_with_sizes`; writing to one part is always safe here.

    >>> import wengert
    >>> wengert.unsafe_split_with_sizes(wengert.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    if axis is not None:
        dim = either("unsafe_split_with_sizes", "dim", dim, axis, 0)
    return split_with_sizes(input, split_sizes, dim)


def unsafe_chunk(
    input: Tensor, chunks: int, dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """`chunk`; writing to one part is always safe here.

    >>> import wengert
    >>> wengert.unsafe_chunk(wengert.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if axis is not None:
        dim = either("unsafe_chunk", "dim", dim, axis, 0)
    return chunk(input, chunks, dim)


__all__ = [
    "chunk", "dsplit", "hsplit", "narrow", "select", "select_scatter", "slice_scatter", "split",
    "split_with_sizes", "tensor_split", "unbind", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "vsplit",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "chunk", "dsplit", "hsplit", "narrow", "select", "select_scatter", "slice_scatter",
    "split_with_sizes", "tensor_split", "unbind", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "vsplit",
)  # fmt: skip
INPLACE: tuple[str, ...] = ()
