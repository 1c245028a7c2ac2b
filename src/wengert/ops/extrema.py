"""Largest and smallest elements, and their indices.

If several elements are extreme, a reduction without indices splits its gradient among
them; one with indices sends it to the element it names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.kernels import reduction
from wengert.kernels.axes import Dims, axes_of, kept_shape
from wengert.kernels.reduction import ties
from wengert.ops._picking import picked
from wengert.ops._reducing import as_rows, batch_over, dims_of_batch, over_one
from wengert.ops.batching import Batch, batch_along
from wengert.ops.declare import Value, primitive
from wengert.ops.masking import maximum, minimum
from wengert.ops.numpy_names import either_dims
from wengert.ops.outputs import write_out
from wengert.ops.reduction import sum_over
from wengert.ops.results import MinMax, ValuesIndices, result_of
from wengert.ops.shape import reshape
from wengert.ops.variadic import require_tensor


@primitive(input=None, batch=over_one, layout="contiguous")
def argmax(input: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """Index of the largest element along `dim`, or in the flattened tensor; the first of several.

    >>> import wengert
    >>> wengert.argmax(wengert.tensor([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]), dim=1)
    tensor([1, 0])
    """
    return kernels.selection.extreme_index(input, dim, keepdim, True, "argmax")


@primitive(input=None, batch=over_one, layout="contiguous")
def argmin(input: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """Index of the smallest element along `dim`, or in the flattened tensor; the first of several.

    >>> import wengert
    >>> wengert.argmin(wengert.tensor([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]), dim=1)
    tensor([0, 1])
    """
    return kernels.selection.extreme_index(input, dim, keepdim, False, "argmin")


@primitive(input=None, batch=batch_along("dim"), name="max", layout="contiguous")
def _place_of_max(input: Value, dim: int, keepdim: bool) -> Value:
    """As argmax, for what `max` accepts (booleans as well)."""
    return kernels.selection.extreme_index(input, dim, keepdim, True, "max")


@primitive(input=None, batch=batch_along("dim"), name="min", layout="contiguous")
def _place_of_min(input: Value, dim: int, keepdim: bool) -> Value:
    """As argmin, for what `min` accepts (booleans as well)."""
    return kernels.selection.extreme_index(input, dim, keepdim, False, "min")


def _share_in_batch(b: Batch) -> Any:
    rank = b.rank("input")
    lengths = (*(1,) * (rank - b.rank("extreme")), *b.shape("extreme"))
    input, extreme = b.whole("input"), reshape(b.whole("extreme"), (b.size, *lengths))
    if not rank:
        return reshape(b(input=reshape(input, (b.size, 1)), extreme=reshape(extreme, (b.size, 1)),
                         dim=1), (b.size,))  # fmt: skip
    return b(input=input, extreme=extreme, dim=dims_of_batch(b.params["dim"], rank))


@primitive(input=None, extreme=None, batch=_share_in_batch, name="amax_backward")
def share_of_ties(input: Value, extreme: Value, dim: Dims = None) -> Value:
    """1/n for each of the n elements that equal the extreme, 0 for the others."""
    mask = ties(input, extreme).astype(input.dtype)
    return mask / np.add.reduce(mask, axis=axes_of(dim, input.ndim), keepdims=True)


def _shared_vjp(g: Value, input: Value, out: Value, dim: Dims, keepdim: bool) -> Value:
    if not keepdim:
        shape = kept_shape(input.shape, dim)
        g, out = g.reshape(shape), out.reshape(shape)
    return g * share_of_ties(input, out, dim)


def _shared_jvp(t: Value, input: Value, out: Value, dim: Dims, keepdim: bool) -> Value:
    if not keepdim:
        out = out.reshape(kept_shape(input.shape, dim))
    return sum_over(t * share_of_ties(input, out, dim), dim, keepdim)


def _extreme(largest: bool, name: str, input: np.ndarray, dim: Dims, keepdim: bool) -> Value:
    if input.dtype.kind == "c":
        raise NotImplementedError(f'"{name}" is not implemented for complex tensors')
    axes = axes_of(dim, input.ndim)
    kernels.selection.check_reducible(input, axes, name)
    return reduction.extreme(input, axes, keepdim, largest)


@primitive(input=_shared_vjp, jvp=_shared_jvp, batch=batch_over, layout="contiguous")
def amax(input: Value, dim: Dims = (), keepdim: bool = False) -> Value:
    """Largest elements over `dim`, or over everything. Ties share the gradient.

    >>> import wengert
    >>> wengert.amax(wengert.tensor([[1.0, 5.0], [7.0, 0.0]]), dim=0)
    tensor([7., 5.])
    """
    return _extreme(True, "amax", input, dim, keepdim)


@primitive(input=_shared_vjp, jvp=_shared_jvp, batch=batch_over, layout="contiguous")
def amin(input: Value, dim: Dims = (), keepdim: bool = False) -> Value:
    """Smallest elements over `dim`, or over everything. Ties share the gradient.

    >>> import wengert
    >>> wengert.amin(wengert.tensor([[1.0, 5.0], [7.0, 0.0]]), dim=0)
    tensor([1., 0.])
    """
    return _extreme(False, "amin", input, dim, keepdim)


@primitive(
    input=lambda g, input, out: g * share_of_ties(input, out),
    jvp=lambda t, input, out: _shared_jvp(t, input, out, None, False),
    batch=lambda b: amax(as_rows(b, "input"), 1),
    label="MaxBackward1",
    name="max",
)
def _max_of_all(input: Value) -> Value:
    return _extreme(True, "max", input, None, False)


@primitive(
    input=lambda g, input, out: g * share_of_ties(input, out),
    jvp=lambda t, input, out: _shared_jvp(t, input, out, None, False),
    batch=lambda b: amin(as_rows(b, "input"), 1),
    label="MinBackward1",
    name="min",
)
def _min_of_all(input: Value) -> Value:
    return _extreme(False, "min", input, None, False)


def max(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor | ValuesIndices:
    """The largest element; along `dim` with its index; or of two tensors (see `maximum`).

    Without `dim` ties share the gradient; with it the named tuple `(values, indices)` names
    the first of them, which gets it all.

    >>> import wengert
    >>> wengert.max(wengert.tensor([[1.0, 5.0], [7.0, 0.0]]), dim=1).indices
    tensor([1, 0])
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("max", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(max, out, input, dim, keepdim, other=other)
    if dim is None and other is None:
        return _max_of_all(input)
    if other is not None or isinstance(dim, Tensor):
        return maximum(input, dim if other is None else other)
    along: Value = dim
    return picked("max", input, _place_of_max(input, along, keepdim), along, keepdim)


def min(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor | ValuesIndices:
    """The smallest element; along `dim` with its index; or of two tensors (see `minimum`).

    Without `dim` ties share the gradient; with it the named tuple `(values, indices)` names
    the first of them, which gets it all.

    >>> import wengert
    >>> wengert.min(wengert.tensor([[1.0, 5.0], [7.0, 0.0]]), dim=1).values
    tensor([1., 0.])
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("min", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(min, out, input, dim, keepdim, other=other)
    if dim is None and other is None:
        return _min_of_all(input)
    if other is not None or isinstance(dim, Tensor):
        return minimum(input, dim if other is None else other)
    along: Value = dim
    return picked("min", input, _place_of_min(input, along, keepdim), along, keepdim)


def aminmax(
    input: Tensor,
    *,
    dim: int | None = None,
    keepdim: bool = False,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> MinMax:
    """The smallest and the largest elements over `dim`, or over everything.

    >>> import wengert
    >>> wengert.aminmax(wengert.tensor([1.0, 5.0, 3.0])).max
    tensor(5.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("aminmax", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(aminmax, out, input, dim=dim, keepdim=keepdim)
    require_tensor("aminmax", "input", input)
    if dim is None and not input._outline.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no"
            f" identity; input has shape {list(input._outline.shape)}"
        )
    result: MinMax = result_of("aminmax", amin(input, dim, keepdim), amax(input, dim, keepdim))
    return result


__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "min"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE: tuple[str, ...] = ()
