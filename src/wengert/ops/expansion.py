"""Operations that repeat or reorder elements."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import of_numpy
from wengert.core.layout import contiguous_format
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.axes import axis_of
from wengert.kernels.layout import as_images
from wengert.ops.batching import Batch, batch_along
from wengert.ops.broadcasting import expand, listed
from wengert.ops.declare import Value, multilinear
from wengert.ops.gathering import elements, index_select
from wengert.ops.joining import stack
from wengert.ops.numpy_names import either
from wengert.ops.shape import clone, padded, reshape, transpose
from wengert.ops.variadic import require_tensor

Shape = tuple[int, ...]


def _repeat_batch(b: Batch) -> Value:
    repeats = b.params["repeats"]
    return b(input=padded(b.values["input"], len(repeats)), repeats=(1, *repeats))


@multilinear(
    input=lambda g, input_shape, repeats: _unrepeat(g, input_shape, repeats),
    batch=_repeat_batch,
    layout="contiguous",
)
def repeat(input: Value, repeats: Sequence[int]) -> Value:
    """Repeat the input that many times along each dimension; new dimensions come first."""
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of"
            f" tensor: repeat() got repeats {list(repeats)} for shape {list(input.shape)}"
        )
    if any(n < 0 for n in repeats):
        shape = (1,) * (len(repeats) - input.ndim) + input.shape
        sizes = [n * m for n, m in zip(repeats, shape, strict=True)]
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {builtins.min(sizes)}: {sizes}"
        )
    return np.tile(input, tuple(repeats))


def _unrepeat_batch(b: Batch) -> Value:
    shape, repeats = b.params["shape"], b.params["repeats"]
    full = (b.size, *(1,) * (len(repeats) - len(shape)), *shape)
    return reshape(b(shape=full, repeats=(1, *repeats)), (b.size, *shape))


@multilinear(g=lambda g, repeats: repeat(g, repeats), batch=_unrepeat_batch, name="repeat_backward")
def _unrepeat(g: Value, shape: Shape, repeats: Sequence[int]) -> Value:
    """The sum over the copies that `repeat` made."""
    padded = (1,) * (len(repeats) - len(shape)) + shape
    pairs = [n for pair in zip(repeats, padded, strict=True) for n in pair]
    copies = tuple(range(0, len(pairs), 2))
    return np.asarray(g).reshape(pairs).sum(axis=copies, dtype=g.dtype).reshape(shape)


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Copies of the input side by side; `dims` counts from the last dimension.

    >>> import wengert
    >>> wengert.tile(wengert.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    require_tensor("tile", "input", input)
    dims = tuple(dims)
    return repeat(input, (1,) * (input.ndim - len(dims)) + dims)


def repeat_interleave(
    input: Tensor,
    repeats: int | Tensor | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    axis: int | None = None,
) -> Tensor:
    """Each slice along `dim` repeated in place; without `dim` each element of all.

    `repeats` is one number or a tensor with a number for each slice. With `repeats` as the only
    argument, each of its positions is repeated that often.

    >>> import wengert
    >>> wengert.repeat_interleave(wengert.tensor([5, 6]), wengert.tensor([2, 1]))
    tensor([5, 5, 6])
    """
    if axis is not None:
        dim = either("repeat_interleave", "dim", dim, axis, None)
    require_tensor("repeat_interleave", "input", input)
    if repeats is None:
        return wrap(np.repeat(np.arange(len(input._array)), _counts(input, input._outline.size)))
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    d = axis_of(dim, input.ndim)
    length = input._outline.shape[d] if input.ndim else 1
    index = np.repeat(np.arange(length), _counts(repeats, length))
    if output_size is not None and output_size != index.size:
        raise RuntimeError(
            "allocated size does not match required size: repeat_interleave() needs an output_size"
            f" of {index.size}, got {output_size}"
        )
    return index_select(input, d, wrap(index))


def _counts(repeats: Any, length: int) -> np.ndarray:
    counts = (
        elements("repeat_interleave", repeats)
        if isinstance(repeats, Tensor)
        else np.asarray(repeats)
    )
    if counts.dtype.kind not in "iu":
        raise NotImplementedError(
            f'"repeat_interleave_cpu" not implemented for {of_numpy[counts.dtype].short!r}'
        )
    if counts.ndim > 1:
        raise RuntimeError(
            f"repeat_interleave: repeats must be 0-dim or 1-dim tensor, got {counts.ndim}-dim"
        )
    if counts.size not in (1, length):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) ="
            f" {counts.size} and input.size(0) = {length}"
        )
    if counts.size and counts.min() < 0:
        raise RuntimeError(f"repeats can not be negative, got {counts.min()}")
    return counts


def _distinct(dims: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    axes = tuple(axis_of(d, ndim) for d in ((dims,) if isinstance(dims, int) else dims))
    for d in axes:
        if axes.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return axes if ndim else ()


@multilinear(input=lambda g, dims: flip(g, dims), batch=batch_along("dims"), layout=("input",))
def flip(input: Value, dims: int | Sequence[int]) -> Value:
    """A copy with the order of the elements reversed along each of `dims`.

    >>> import wengert
    >>> wengert.flip(wengert.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    return kernels.blocks.flipped(input, _distinct(dims, input.ndim))


def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order.

    >>> import wengert
    >>> wengert.fliplr(wengert.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    require_tensor("fliplr", "input", input)
    if input.ndim < 2:
        raise RuntimeError(f"Input must be >= 2-d. fliplr() got {input.ndim}-d")
    return flip(input, (1,))


def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order.

    >>> import wengert
    >>> wengert.flipud(wengert.tensor([1, 2]))
    tensor([2, 1])
    """
    require_tensor("flipud", "input", input)
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d. flipud() got 0-d")
    return flip(input, (0,))


def _roll_batch(b: Batch) -> Value:
    if b.params["dims"] not in (None, (), []):
        return _roll_along(b)
    flat = reshape(b.values["input"], (b.size, prod(b.shape("input"))))
    return reshape(b(input=flat, dims=1), (b.size, *b.shape("input")))


_roll_along = batch_along("dims")


@multilinear(
    input=lambda g, shifts, dims: roll(g, _negated(shifts), dims),
    batch=_roll_batch,
)
def roll(
    input: Value, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Value:
    """Shift the elements along `dims`, wrapping around; without `dims` in flat order.

    >>> import wengert
    >>> wengert.roll(wengert.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    number = (int, np.integer)
    by = (shifts,) if isinstance(shifts, number) else tuple(shifts)
    dims_rolled = () if dims is None else (dims,) if isinstance(dims, number) else tuple(dims)
    if not dims_rolled and len(by) == 1:
        flat = kernels.blocks.rolled(input.reshape(-1), by[0], 0)
        return as_images(flat.reshape(input.shape), input)
    if not by:
        raise RuntimeError("roll(): `shifts` required, but got an empty sequence")
    if len(by) != len(dims_rolled):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(dims_rolled)}"
        )
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims_rolled[0]} but tensor has no dimensions")
    out = input
    for shift, d in zip(by, dims_rolled, strict=True):
        out = kernels.blocks.rolled(out, shift, axis_of(d, input.ndim))
    return as_images(out, input)


def _negated(shifts: int | Sequence[int]) -> Any:
    return -shifts if isinstance(shifts, int) else tuple([-n for n in shifts])


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate the input k times by 90 degrees, from the first of `dims` towards the second.

    >>> import wengert
    >>> wengert.rot90(wengert.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    require_tensor("rot90", "input", input)
    ndim = input.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    a, b = (axis_of(d, ndim) for d in dims)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 2:
        return flip(input, (a, b))
    if turns == 0:
        return clone(input, memory_format=contiguous_format)
    return transpose(flip(input, (b if turns == 1 else a,)), a, b)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates: output k repeats the k-th vector along all other dimensions.

    With ``indexing="xy"`` the first two dimensions are swapped; the default is ``"ij"``.

    >>> import wengert
    >>> a, b = wengert.meshgrid(wengert.tensor([1, 2]), wengert.tensor([3, 4]), indexing="ij")
    >>> a
    tensor([[1, 1],
            [2, 2]])
    """
    several = list(listed("meshgrid", tensors))
    if not several:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in several:
        if x.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got:"
                f" shape {list(x._outline.shape)}"
            )
    if len({x._outline.dtype for x in several}) > 1:
        kinds = [of_numpy[x._outline.dtype] for x in several]
        raise RuntimeError(f"meshgrid expects all tensors to have the same dtype, got {kinds}")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    swap = indexing == "xy" and len(several) > 1
    if swap:
        several[:2] = several[1::-1]
    shape = tuple(x._outline.size for x in several)
    rank = len(several)
    grids = [
        expand(reshape(x, [-1 if d == k else 1 for d in range(rank)]), shape)
        for k, x in enumerate(several)
    ]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def _check_vectors(several: Sequence[Tensor]) -> None:
    for x in several:
        if x.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._outline.shape)}")


def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples with one element from each vector, a row each.

    >>> import wengert
    >>> wengert.cartesian_prod(wengert.tensor([1, 2]), wengert.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    several = listed("cartesian_prod", tensors)
    _check_vectors(several)
    if len(several) == 1:
        return several[0]
    grids = meshgrid(*several, indexing="ij")
    return stack([reshape(x, (-1,)) for x in grids], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, a row each.

    >>> import wengert
    >>> wengert.combinations(wengert.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    require_tensor("combinations", "input", input)
    _check_vectors([input])
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return wrap(np.empty(0, input._outline.dtype))
    index = _chosen(input._outline.size, r, with_replacement)
    return reshape(index_select(input, 0, wrap(index.ravel())), index.shape)


def _chosen(n: int, r: int, again: bool) -> np.ndarray:
    """All combinations of `r` of the first n numbers, with repetition if `again`."""
    rows = np.arange(n)[:, None]
    for _ in range(r - 1):
        # Each row is extended by every number larger than its last one (or equal, if `again`).
        first = rows[:, -1] + (not again)
        counts = n - first
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - first, counts)
        rows = np.column_stack([np.repeat(rows, counts, axis=0), offsets])
    return rows


__all__ = [
    "cartesian_prod", "combinations", "flip", "fliplr", "flipud", "meshgrid",
    "repeat_interleave", "roll", "rot90", "tile",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("fliplr", "flipud", "repeat_interleave", "roll", "rot90")
INPLACE: tuple[str, ...] = ()
