"""In-place forms: checks, the write, its stamp, and the history of everything that shares it.

The in-place form of an operation is derived from the operation. When a view is written,
its root gets a node that says so, and every live view of that root gets a new edge below
it: a view never shows a history that its memory no longer has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert import _storage
from wengert._core import Leaf, Node, Tensor, caller, getframe, mode, tensors
from wengert._dtypes import of_numpy
from wengert.ops.strided import as_strided_scatter, as_strided_view


def inplace(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The in-place form of an operation, as a method called `name`."""

    @wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        check_writable(self, name)
        return write(self, function(self, *args, **options), name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place form of `{name.removesuffix('_')}`."
    return method


def check_writable(target: Tensor, name: str) -> None:
    """Raise where an in-place write would break the graph before it began."""
    if mode.site is None or target._edge is None:
        return
    if type(target._edge) is Leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
            + _leaf_remedy(name, target)
        )
    root = getattr(target, "_root", target)
    if type(root._edge) is Leaf:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place"
            " operation." + _leaf_remedy(name, target)
        )


def _leaf_remedy(name: str, target: Tensor) -> str:
    return (
        f" {name}() at {_storage.place(*caller(getframe(1)))} would write to a tensor of shape"
        f" {list(target._array.shape)} whose gradient is asked for. Remedies: use the"
        " out-of-place form; or, to change the values themselves, write inside"
        " torch.no_grad()."
    )


def write(target: Tensor, result: Tensor, name: str) -> Tensor:
    """Put `result` into the memory of `target` and give `target` its history."""
    array, value = target._array, result._array
    if value.shape != array.shape:
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape"
            f" {list(value.shape)} in {name}()"
        )
    if value.dtype != array.dtype:
        _check_castable(value.dtype, array.dtype, name)
        if result._edge is not None:
            from wengert.ops.casting import convert

            result = convert(result, of_numpy[array.dtype])
    if not array.flags.writeable:
        raise RuntimeError(
            f"{name}(): the tensor's memory is read-only (an expanded tensor, or a read-only"
            " NumPy array); call .clone() first"
        )
    np.copyto(array, value, casting="unsafe")
    touch(target, name)
    if mode.site is not None:
        rebase(target, result)
    return target


def touch(target: Tensor, name: str) -> None:
    """Stamp the memory of `target` as written by the user's line."""
    _storage.stamp(target._array, name, *caller(getframe(1)))


def _check_castable(value: np.dtype[Any], target: np.dtype[Any], name: str) -> None:
    a, b = of_numpy[value], of_numpy[target]
    if a.category > b.category:
        raise RuntimeError(
            f"result type {a.short} can't be cast to the desired output type {b.short}"
            f" in {name}()"
        )


def rebase(target: Tensor, result: Tensor) -> None:
    """Give `target`, its root and all their views the history that the memory now has."""
    edge = result._edge
    root = getattr(target, "_root", None)
    if root is None:
        if edge is not None:
            _adopt_output(target, result, edge)
        target._edge = edge
        root = target
    elif edge is not None or root._edge is not None:
        root._edge = as_strided_scatter(root, result, geometry(target, root))._edge
    else:
        return
    for reference in getattr(root, "_views", ()):
        view = reference()
        if view is not None and (view._edge is not None or root._edge is not None):
            view._edge = as_strided_view(root, geometry(view, root))._edge


def _adopt_output(target: Tensor, result: Tensor, edge: Node) -> None:
    """A node that keeps its output keeps the written memory, not a second copy of it.

    Only if it keeps nothing that the write destroyed: its time then moves past the write.
    """
    keeps = [(s, getattr(edge, s)) for s, _ in edge.saved]
    if not any(v is result._array for _, v in keeps):
        return
    if any(type(v) is np.ndarray and np.may_share_memory(v, target._array) for _, v in keeps):
        return
    for slot, value in keeps:
        if value is result._array:
            setattr(edge, slot, target._array)
    edge.seq = _storage.tick()


def geometry(view: Tensor, root: Tensor) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Offset, shape and strides of a view within its root's memory, in elements."""
    size = view._array.itemsize
    offset = (view._array.ctypes.data - root._array.ctypes.data) // size
    return offset, view._array.shape, tuple(s // size for s in view._array.strides)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `src`, broadcast and converted, into this tensor.

    >>> import wengert
    >>> wengert.zeros(2).copy_(wengert.tensor([1, 2]))
    tensor([1., 2.])
    """
    check_writable(self, "copy_")
    if type(src) not in tensors:
        raise TypeError(f"copy_(): argument 'src' must be Tensor, not {type(src).__name__}")
    from wengert.ops.casting import convert
    from wengert.ops.shape import expand

    try:
        result = expand(convert(src, of_numpy[self._array.dtype]), self._array.shape)
    except RuntimeError as error:
        raise RuntimeError(
            f"copy_(): src of shape {list(src._array.shape)} does not broadcast to"
            f" {list(self._array.shape)}"
        ) from error
    return write(self, result, "copy_")
