"""Operations that join several tensors into one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import defaults
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.axes import axis_of
from wengert.kernels.layout import (
    CHANNELS_LAST,
    as_images,
    is_channels_last,
    plain_strides,
    strides_in,
)
from wengert.ops.numpy_names import either
from wengert.ops.outputs import write_out
from wengert.ops.shape import atleast_1d, atleast_2d, atleast_3d, reshape
from wengert.ops.subscript import basic
from wengert.ops.variadic import as_sequence, of_list

Array = np.ndarray
Several = Sequence[Tensor]
# Bytes from which an array is worth a kernel of its own.
_LARGE = 1 << 16


def _part_of_cat(g: Any, k: int, layout: tuple[Any, int, list[int], int]) -> Any:
    ends, dim, skipped, lead = layout
    if type(ends) is int:  # what each part has
        return basic(g, (*(slice(None),) * dim, slice(k * ends, k * ends + ends)))
    if k in skipped:
        return reshape(basic(g, (..., slice(0, 0))), (*g.shape[:lead], 0))
    start = ends[k - 1] if k else 0
    return basic(g, (*(slice(None),) * dim, slice(start, ends[k])))


_NONE: list[int] = []


@of_list("CatBackward0", _part_of_cat, batch=lambda rank, dim, lead: (dim, lead + 1))
def _cat(arrays: list[Array], dim: int, lead: int) -> tuple[Array, Any]:
    """`cat` for each entry of the first `lead` dimensions, which `dim` does not count."""
    if not arrays:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    shape = arrays[0].shape
    for a in arrays:
        if a.shape != shape:
            break
    else:
        rank = len(shape) - lead
        if rank > 1 or (rank == 1 and shape[lead]):
            axis = (dim if type(dim) is int and 0 <= dim < rank else axis_of(dim, rank)) + lead
            return _alike(arrays, axis), (shape[axis], axis, _NONE, lead)
    ends = _ends_of(arrays, shape, dim, lead)
    if ends is not None:
        axis = axis_of(dim, len(shape) - lead) + lead
        return _joined(arrays, axis), (ends, axis, _NONE, lead)
    # As in PyTorch, empty vectors join anything: old code starts with one.
    nothing = (*arrays[0].shape[:lead], 0)
    used = [a for a in arrays if a.shape != nothing]
    if not used:
        return arrays[0].copy(), ([0] * len(arrays), lead, _NONE, lead)
    axis = _check_cat(arrays, used[0].shape, dim, lead)
    skipped = _NONE
    if len(used) < len(arrays):
        skipped = [k for k, a in enumerate(arrays) if a.shape == nothing]
    ends = [*accumulate([0 if a.shape == nothing else a.shape[axis] for a in arrays])]
    return _joined(used, axis), (ends, axis, skipped, lead)


def _ends_of(
    arrays: list[Array], shape: tuple[int, ...], dim: int, lead: int
) -> list[int] | None:  # fmt: skip
    """Where each array ends that is as long as the others along all axes but one.

    None where there are other arrays, or no axis.
    """
    rank = len(shape) - lead
    if type(dim) is not int or not -rank <= dim < rank:
        return None
    axis = lead + dim % rank
    head, tail, end, ends = shape[:axis], shape[axis + 1 :], 0, []
    for a in arrays:
        own = a.shape
        if len(own) != len(shape) or own[:axis] != head or own[axis + 1 :] != tail:
            return None
        if not own[axis] and rank == 1:
            return None
        end += own[axis]
        ends.append(end)
    return ends


def _alike(arrays: list[Array], axis: int) -> Array:
    """Arrays of one shape, joined."""
    if arrays[0].nbytes * len(arrays) >= kernels.blocks.OUT_OF_STEP:
        return _joined(arrays, axis)
    first = arrays[0]
    if first.ndim < 4 or first.flags.c_contiguous:
        out = np.concatenate(arrays, axis)
        return out if out.ndim < 4 and out.flags.c_contiguous else _in_order(out, arrays)
    if _are_images(arrays):
        return _in_images_order(np.concatenate(arrays, axis), first)
    shape = first.shape  # NumPy would keep the order of the operands
    out = np.empty((*shape[:axis], shape[axis] * len(arrays), *shape[axis + 1 :]), first.dtype)
    return np.concatenate(arrays, axis, out=out)


def _joined(arrays: list[Array], axis: int) -> Array:
    """Arrays that are many or large, joined."""
    first = arrays[0]
    if first.flags.c_contiguous:
        return _in_order(kernels.blocks.joined(arrays, axis), arrays)
    if is_channels_last(first):
        return _in_order(np.concatenate(arrays, axis), arrays)
    # NumPy keeps the operands' memory order; PyTorch's result is contiguous.
    length = sum([a.shape[axis] for a in arrays])
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    out, place, lead = np.empty(shape, np.result_type(*arrays)), 0, (slice(None),) * axis
    if out.nbytes < _LARGE * len(arrays):
        return np.concatenate(arrays, axis, out=out)
    for a in arrays:
        past = place + a.shape[axis]
        kernels.strides.copy(out[(*lead, slice(place, past))], a, short=True)
        place = past
    return out


def _in_order(out: Array, arrays: list[Array]) -> Array:
    """What was joined: channels last if all arrays are, contiguous otherwise."""
    first = arrays[0]
    if out.ndim not in CHANNELS_LAST or (first.flags.c_contiguous and 1 not in first.shape):
        return out if out.flags.c_contiguous else np.ascontiguousarray(out)
    if _are_images(arrays):
        return _in_images_order(out, first)
    plain = out.strides == plain_strides(out.shape, out.itemsize)
    return out if plain else as_images(out)


def _in_images_order(out: Array, image: Array) -> Array:
    """What was joined of images that are channels last as they are."""
    known = out.strides == strides_in(out.shape, out.itemsize, CHANNELS_LAST[out.ndim])
    return out if known else as_images(out, image)


def _are_images(arrays: list[Array]) -> bool:
    """Whether all arrays, which have one rank, are channels last."""
    first = arrays[0]
    if not is_channels_last(first):
        return False
    outline = first.shape, first.strides
    return all([(a.shape, a.strides) == outline or is_channels_last(a) for a in arrays])


def _check_cat(arrays: list[Array], expected: tuple[int, ...], dim: int, lead: int) -> int:
    nothing = (*expected[:lead], 0)
    axis = axis_of(dim, len(expected) - lead) + lead
    for k, a in enumerate(arrays):
        shape = a.shape
        if shape == expected and len(shape) > lead:
            continue
        if len(shape) == lead:
            raise RuntimeError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
        if shape == nothing:
            continue
        if len(shape) != len(expected):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(expected) - lead} and"
                f" {len(shape) - lead} (tensor number {k} in the list)"
            )
        for d, (n, m) in enumerate(zip(expected, shape, strict=True)):
            if n != m and d != axis:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis - lead}. Expected size"
                    f" {n} but got size {m} for tensor number {k} in the list."
                )
    return axis


def cat(
    tensors: Several, dim: int = 0, *, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """Concatenate tensors along a dimension.

    All other dimensions must agree; dtypes are promoted. Empty vectors are skipped.

    >>> import wengert
    >>> wengert.cat([wengert.tensor([1, 2]), wengert.tensor([3])])
    tensor([1, 2, 3])
    """
    if axis is not None:
        dim = either("cat", "dim", dim, axis, 0)
    if out is not None:
        return write_out(cat, out, tensors, dim)
    joined: Tensor = _cat(tensors, dim, 0)
    return joined


def concat(
    tensors: Several, dim: int = 0, *, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """As `cat`.

    >>> import wengert
    >>> wengert.concat([wengert.tensor([1, 2]), wengert.tensor([3])])
    tensor([1, 2, 3])
    """
    if axis is not None:
        dim = either("concat", "dim", dim, axis, 0)
    if out is not None:
        return write_out(concat, out, tensors, dim)
    return cat(tensors, dim)


def concatenate(
    tensors: Several, dim: int = 0, *, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """As `cat`; `axis` is NumPy's name for `dim`.

    >>> import wengert
    >>> wengert.concatenate([wengert.tensor([1, 2]), wengert.tensor([3])])
    tensor([1, 2, 3])
    """
    if out is not None:
        return write_out(concatenate, out, tensors, dim, axis=axis)
    return cat(tensors, dim if axis is None else axis)


@of_list(
    "StackBackward0",
    lambda g, k, dim: basic(g, (*(slice(None),) * dim, k, ...)),
    batch=lambda rank, dim: (axis_of(dim, rank + 1) + 1,),
)
def _stack(arrays: list[Array], dim: int) -> tuple[Array, Any]:
    if not arrays:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = arrays[0].shape
    if [a.shape for a in arrays].count(shape) < len(arrays):
        k, a = next((k, a) for k, a in enumerate(arrays) if a.shape != shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and"
            f" {list(a.shape)} at entry {k}"
        )
    axis = axis_of(dim, len(shape) + 1)
    if axis == len(shape):
        columns = [a.reshape((*shape, 1)) for a in arrays]
        return np.ascontiguousarray(np.concatenate(columns, axis)), axis
    # Along an existing dimension, then split: like PyTorch, which may join channels last.
    joined = _alike(arrays, axis)
    return joined.reshape((*shape[:axis], len(arrays), *shape[axis:])), axis


def stack(
    tensors: Several, dim: int = 0, *, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """Stack tensors of the same shape along a new dimension.

    >>> import wengert
    >>> wengert.stack([wengert.tensor([1, 2]), wengert.tensor([3, 4])], 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if axis is not None:
        dim = either("stack", "dim", dim, axis, 0)
    if out is not None:
        return write_out(stack, out, tensors, dim)
    joined: Tensor = _stack(tensors, dim)
    return joined


def _checked(name: str, several: Several) -> Several:
    several = as_sequence(name, several)
    if not several:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for k, x in enumerate(several):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0 of {name}(), but got"
                f" {type(x).__name__}"
            )
    return several


def _have_rank(several: Several, least: int) -> bool:
    """Whether all have at least so many dimensions."""
    for x in several:  # noqa: SIM110 (an all() of a generator costs more than all of this)
        if type(x) is not Tensor or x._outline.ndim < least:
            return False
    return True


def hstack(tensors: Several, *, out: Tensor | None = None) -> Tensor:
    """Concatenate along the second dimension; vectors along their only one.

    >>> import wengert
    >>> wengert.hstack([wengert.tensor([1, 2]), wengert.tensor([3])])
    tensor([1, 2, 3])
    """
    if out is not None:
        return write_out(hstack, out, tensors)
    several = _checked("hstack", tensors)
    if not _have_rank(several, 1):
        several = [atleast_1d(x) for x in several]
    joined: Tensor = _cat(several, 0 if several[0].ndim == 1 else 1, 0)
    return joined


def vstack(tensors: Several, *, out: Tensor | None = None) -> Tensor:
    """Concatenate along the first dimension; vectors are rows.

    >>> import wengert
    >>> wengert.vstack([wengert.tensor([1, 2]), wengert.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if out is not None:
        return write_out(vstack, out, tensors)
    several = _checked("vstack", tensors)
    if not _have_rank(several, 2):
        several = [atleast_2d(x) for x in several]
    joined: Tensor = _cat(several, 0, 0)
    return joined


def row_stack(tensors: Several, *, out: Tensor | None = None) -> Tensor:
    """As `vstack`.

    >>> import wengert
    >>> wengert.row_stack([wengert.tensor([1, 2]), wengert.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if out is not None:
        return write_out(row_stack, out, tensors)
    return vstack(tensors)


def dstack(tensors: Several, *, out: Tensor | None = None) -> Tensor:
    """Concatenate along the third dimension.

    >>> import wengert
    >>> wengert.dstack([wengert.tensor([1, 2]), wengert.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    if out is not None:
        return write_out(dstack, out, tensors)
    several = _checked("dstack", tensors)
    if not _have_rank(several, 3):
        several = [atleast_3d(x) for x in several]
    joined: Tensor = _cat(several, 2, 0)
    return joined


def column_stack(tensors: Several, *, out: Tensor | None = None) -> Tensor:
    """Concatenate along the second dimension; vectors are columns.

    >>> import wengert
    >>> wengert.column_stack([wengert.tensor([1, 2]), wengert.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    if out is not None:
        return write_out(column_stack, out, tensors)
    several = _checked("column_stack", tensors)
    if not _have_rank(several, 2):
        several = [x if x.ndim > 1 else reshape(x, (-1, 1)) for x in several]
    joined: Tensor = _cat(several, 1, 0)
    return joined


def _block_of(g: Any, k: int, corners: list[tuple[Any, ...]]) -> Any:
    rows, columns, shape = corners[k]
    return reshape(basic(g, (..., rows, columns)), shape)


@of_list("BlockDiagBackward0", _block_of, batch=lambda rank, lead: (lead + 1,))
def _block_diag(arrays: list[Array], lead: int) -> tuple[Array, Any]:
    """`block_diag` for each entry of the first `lead` dimensions, which all arrays have."""
    blocks = []
    for k, a in enumerate(arrays):
        batch, shape = a.shape[:lead], a.shape[lead:]
        if len(shape) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has"
                f" {len(shape)} dimensions"
            )
        blocks.append(a.reshape(*batch, *(1,) * (2 - len(shape)), *shape))
    height, width = (sum([b.shape[d] for b in blocks]) for d in (-2, -1))
    out = np.zeros((*arrays[0].shape[:lead], height, width), arrays[0].dtype)
    corners, i, j = [], 0, 0
    for a, b in zip(arrays, blocks, strict=True):
        rows, columns = slice(i, i + b.shape[-2]), slice(j, j + b.shape[-1])
        i, j = rows.stop, columns.stop
        out[..., rows, columns] = b
        corners.append((rows, columns, a.shape))
    return out, corners


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors as blocks along its diagonal and zeros elsewhere.

    >>> import wengert
    >>> wengert.block_diag(wengert.tensor([[1, 2]]), wengert.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if not tensors:
        return wrap(np.empty((1, 0), defaults.dtype.np))
    joined: Tensor = _block_diag(tensors, 0)
    return joined


__all__ = [
    "block_diag", "cat", "column_stack", "concat", "concatenate", "dstack", "hstack",
    "row_stack", "stack", "vstack",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
