"""In-place forms: checks, the write, its stamp, and the history of everything that shares it.

The in-place form of an operation is derived from the operation. When a view is written, its
root gets a node that records the write, and every live view of that root gets a new edge to
it: a view's history always matches its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from wengert.autograd import errors
from wengert.autograd.grad_mode import enable_grad
from wengert.autograd.history import rebase_history, set_edge
from wengert.autograd.saved.packing import saver_stack
from wengert.core import storage
from wengert.core.deferring import putting
from wengert.core.dtypes import of_numpy, scalar_array
from wengert.core.float8 import is_float8, rounded
from wengert.core.inference import check_written
from wengert.core.tensor import (
    Leaf,
    Node,
    Site,
    Tensor,
    Tracer,
    caller,
    concrete,
    cut_from,
    getframe,
    inferences,
    is_view,
    memory_of,
    mode,
    root_of,
    tensors,
    tick,
    wrap,
)
from wengert.kernels.layout import copy, fill
from wengert.kernels.layout import write as write_array
from wengert.ops.broadcasting import check_expandable, expand
from wengert.ops.casting import convert
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.numbers import Number
from wengert.ops.operands import innermost, sum_to
from wengert.ops.outputs import check_castable, check_memory
from wengert.ops.shape import clone
from wengert.ops.slice_writes import IN_PLACE
from wengert.tensor._direct_writes import direct_write, is_free


def inplace(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The in-place form of an operation, as a method called `name`."""

    known = function.__name__
    direct = direct_write(known, name)
    writer = IN_PLACE.get(known)

    @wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        try:
            if storage.rebindings:
                deferred = storage.rebindings[0](self, known, args, options)
                if deferred is not None:
                    if deferred.at_once:
                        return deferred.call(method, self, args, options)
                    return _rebound(deferred, self, function, args, options, name)
            if direct is not None and direct(self, args, options):
                return self
            return _computed(function, writer, self, args, options, name)
        except AttributeError:
            if isinstance(self, Tensor):
                raise
            kind = type(self).__name__
            raise TypeError(f"{name}(): argument 'input' must be Tensor, not {kind}") from None

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place form of `{name.removesuffix('_')}`."
    return method


def _computed(
    function: Callable[..., Any], writer: Any, target: Any, args: Any, options: Any, name: str
) -> Any:
    """The target with the result of an operation."""
    if writer is None and is_free(target):
        since = tick()
        result = function(target, *args, **options)
        if type(result) is Tensor and _write_freely(target, result, name):
            return target
        return _written(target, result, since, name)
    check_writable(target, name)
    if writer is not None and not options and _write_in_place(writer, target, args, name):
        return target
    since = tick()
    return _written(target, function(_original(target), *args, **options), since, name)


def _written(target: Any, result: Any, since: int, name: str) -> Any:
    """The target with the elements and the history of a result, computed from it since then."""
    if isinstance(result, Tracer):
        arrays = [c._array for c in _components(target) if not isinstance(c, Tracer)]
        for component in _components(result):
            if component._edge is not None:
                _keep_originals(component._edge, arrays, since)
    elif result is NotImplemented:  # of an operator
        return result
    elif result._edge is not None:
        _keep_originals(result._edge, [memory_of(target)], since)
    return write(target, result, name)


def _rebound(
    deferred: Any, target: Any, function: Any, args: Any, options: Any, name: str
) -> Any:  # fmt: skip
    """The same where values are deferred: the target stands for the result, or is written to."""
    since = tick()
    result = deferred.compute(function, target, args, options)
    if deferred.rebound(target, result):
        return target
    check_writable(target, name)
    written = _written(target, result, since, name)
    deferred.written(target, result)
    return written


def _write_in_place(
    writer: Callable[..., bool], target: Tensor, args: tuple[Any, ...], name: str
) -> bool:
    """Write what an operation and a copy would; False if that has to be done."""
    if not is_free(target):
        return False
    array, arrays = target._array, []
    for x in args:
        if type(x) is Tensor:
            if x._edge is not None or np.may_share_memory(array, x._array):
                return False
            arrays.append(x._array)
        else:
            arrays.append(x)
    if check_memory(array, name, name in _OF_ONE_VALUE) or not writer(array, *arrays):
        return False
    target._cut = cut_from((target, *args))
    touch(target, name)
    return True


def _write_freely(target: Tensor, result: Tensor, name: str) -> bool:
    """`write` where nobody needs to know: see `is_free`; False if there is more to be done."""
    array, value = target._array, result._array
    if result._edge is not None or value.dtype is not array.dtype or value.shape != array.shape:
        return False
    flags = array.flags
    special = storage.guards or not (flags.c_contiguous and flags.writeable)
    if special and check_memory(array, name, name in _OF_ONE_VALUE):
        return False
    write_array(array, value)
    target._cut = cut_from((result,))
    touch(target, name)
    return True


def _original(target: Tensor) -> Tensor:
    """The operation's input for its target: a copy, if a saver may keep it."""
    site = mode.site
    if type(site) is Site or site is None or type(target) not in concrete:
        return target
    return wrap(copy(target._array), target._edge)


def reshaped_inplace(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The in-place form of an operation that returns another view of the same memory."""

    @wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        check_writable(self, name)
        leaf = self._edge if type(self._edge) is Leaf else None
        with enable_grad():  # no element is written: the history continues
            result = function(self, *args, **options)
        if isinstance(self, Tracer):
            self.level.adopt(self, result)
            return self
        self._array = result._array
        if leaf is not None:
            leaf.shape = self._outline.shape
        else:
            set_edge(self, result._edge)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place form of `{name.removesuffix('_')}`; no element is written."
    return method


def check_writable(target: Tensor, name: str) -> None:
    """Before anything is written, raise if an in-place write would break the graph."""
    if inferences:
        check_written((target,), name)
    if mode.site is None:
        return
    edge = target._edge
    if type(edge) is Leaf:
        raise errors.leaf_written(edge, name)
    root = root_of(target)
    if root is not target:
        _check_view(root, edge, name)


def _check_view(root: Tensor, edge: Any, name: str) -> None:
    """The same for a view that has an edge."""
    if type(root._edge) is Leaf:
        raise errors.leaf_written(root._edge, name, view=True)
    if edge is None and root._edge is not None:
        raise errors.lost_view_written(root._edge, name)
    if edge is not None and root._edge is None:
        for leaf in [v._edge for r in root._views if (v := r()) is not None]:
            if type(leaf) is Leaf:
                raise errors.leaf_written(leaf, name, view=True)


def write(target: Tensor, result: Tensor, name: str) -> Tensor:
    """Put `result` into the memory of `target` and give `target` its history."""
    array, value = target._array, result._array
    traced = isinstance(target, Tracer) or isinstance(result, Tracer)
    if value.shape != array.shape:
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape"
            f" {list(value.shape)} in {name}()"
        )
    if value.dtype != array.dtype:
        check_castable(value.dtype, array.dtype, name)
        if traced or result._edge is not None:
            result = convert(result, of_numpy[array.dtype])
        elif is_float8(array.dtype):
            value = rounded(value.real, array.dtype)
    if traced:
        innermost((target, result)).write(target, result, lambda t, r: write(t, r, name))
        return target
    if check_memory(array, name, name in _OF_ONE_VALUE):
        _write_repeated(target, result, name)
    else:
        np.copyto(array, value, casting="unsafe")
    touch(target, name)
    if mode.site is not None:
        rebase(target, result)
    if target._edge is None:
        target._cut = cut_from((result,))
    return target


# Operations that write a single value, which therefore may write to overlapping elements.
_OF_ONE_VALUE = frozenset({
    "__setitem__", "_threshold_", "fill_", "index_fill_", "index_put_", "masked_fill_", "tril_",
    "triu_", "zero_",
})  # fmt: skip


def _write_repeated(target: Tensor, result: Tensor, name: str) -> None:
    """Write changed elements to a tensor with overlapping elements; RuntimeError if recorded.

    An element that one index overwrites and another keeps has no derivative.
    """
    array, value = target._array, result._array
    root = root_of(target)
    if mode.site is not None and (result._edge is not None or root._edge is not None):
        check_memory(array, name)
    with np.errstate(all="ignore"):
        value = value.astype(array.dtype)
    differs = (_bytes(value) != _bytes(array)).any(-1)
    np.copyto(array, value, where=differs)


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of each element along a new last dimension; unlike values, 0. and -0. differ."""
    size = array.itemsize
    return np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, size)


def touch(target: Tensor, name: str) -> None:
    """Stamp the memory of `target` as written by the user's line."""
    storage.stamp(target._array, name, *caller(getframe(1)))


def rebase(target: Tensor, result: Tensor) -> None:
    """Give `target`, its root and all their views the history that the memory now has."""
    edge = result._edge
    # A saver has handled the node's saved values.
    adopting = type(mode.site) is Site or not saver_stack.entries
    if edge is not None and adopting and not is_view(target):
        _adopt_output(target, result, edge)
    rebase_history(target, edge)


def _components(value: Any) -> Iterator[Any]:
    """A tensor and, for a tracer, its values at all outer levels."""
    yield value
    if isinstance(value, Tracer):
        for component in (value.value, getattr(value, "tangent", None)):
            if component is not None:
                yield from _components(component)


def _keep_originals(edge: Node, arrays: list[np.ndarray], since: int) -> None:
    """Give nodes newer than `since` copies of saved values whose memory is about to be written."""
    todo = [edge]
    while todo:
        node = todo.pop()
        if node.seq < since:
            continue
        for slot, _ in node.saved:
            value = getattr(node, slot)
            if type(value) is np.ndarray and _overlaps(value, arrays):
                setattr(node, slot, value.copy())
            elif isinstance(value, Tensor) and _overlaps(memory_of(value), arrays):
                setattr(node, slot, clone(value))
        todo += [e for e in node.edges if e is not None]


def _overlaps(value: np.ndarray, arrays: list[np.ndarray]) -> bool:
    return any(np.may_share_memory(value, array) for array in arrays)


def _adopt_output(target: Tensor, result: Tensor, edge: Node) -> None:
    """Let a node that saves its output save the written memory instead of a second copy.

    Only if it saved nothing that the write destroyed: its time then moves past the write.
    """
    keeps = [(s, getattr(edge, s)) for s, _ in edge.saved]
    if not any(v is result._array for _, v in keeps):
        return
    if any(type(v) is np.ndarray and np.may_share_memory(v, target._array) for _, v in keeps):
        return
    for slot, value in keeps:
        if value is result._array:
            setattr(edge, slot, target._array)
    edge.seq = tick()


@multilinear(g=lambda g: _nothing(g), name="zeros_like")  # type: ignore[has-type]
def _nothing(g: Value) -> Value:
    """Zeros in the shape of `g`."""
    return np.zeros_like(g)


@primitive(
    input=lambda g: _nothing(g),
    src=lambda g, src_shape: sum_to(g, src_shape),
    mixed=False,
    name="copy_",
    label="CopyBackwards",
)
def _overwritten(input: Value, src: Value) -> Value:
    """`src`, broadcast to the shape of `input`: a copy keeps only the input's shape."""
    return np.broadcast_to(src, input.shape)


def overwrite(target: Tensor, src: Any, name: str, one_value: bool = False) -> Tensor:
    """Copy `src`, a broadcastable tensor or a number, over all elements of `target`.

    As in assignments, values are converted to the dtype of `target`. With `one_value` the
    target may have overlapping elements.
    """
    found = _next(target, src) if putting else None
    if found is None:
        return _overwrite(target, src, name, one_value)
    deferred, result = found
    if not deferred.rebound(target, result):
        _overwrite(target, src, name, one_value)
        deferred.written(target, result)
    return target


def _next(target: Any, src: Any) -> Any:
    """What a target without a graph is to become in a compiled function, and how; else None."""
    if not isinstance(src, Tensor) or not isinstance(target, Tensor):
        return None
    if mode.site is not None and (target.requires_grad or src.requires_grad):
        return None
    if src._outline.ndim > target._outline.ndim:  # an assignment would take ones
        return None
    return putting[0](target, ..., src)


def _overwrite(target: Tensor, src: Any, name: str, one_value: bool) -> Tensor:
    if type(src) is Tensor and src._edge is None and is_plain(target, name, one_value):
        write_plain(target, src._array, name)
        target._cut = src._cut
        return target
    check_writable(target, name)
    array = target._array
    value = src if isinstance(src, Tensor) else wrap(scalar_array(src, of_numpy[array.dtype], name))
    if isinstance(target, Tracer) or isinstance(value, Tracer):
        value = convert(value, of_numpy[array.dtype])
        return write(target, expand(value, array.shape), name)
    check_memory(array, name, one_value)
    if mode.site is None or (target._edge is None and value._edge is None):
        assign(array, value._array)
        touch(target, name)
        if target._edge is None:
            target._cut = cut_from((value,))
        return target
    check_expandable(value._outline.shape, array.shape)
    value = convert(value, of_numpy[array.dtype])
    if is_view(target):  # its root records the old value
        return write(target, expand(value, array.shape), name)
    return write(target, _overwritten(target, value), name)


def overwrite_with(target: Tensor, number: np.ndarray | int, name: str) -> Tensor:
    """`overwrite` with a number of its dtype: in fewer steps where nothing is recorded."""
    if type(target) is not Tensor or target._edge is not None or inferences or putting:
        number = np.asarray(number, target._outline.dtype)
        return overwrite(target, wrap(number), name, one_value=True)
    root = getattr(target, "_root", None)
    if root is not None and root._edge is not None and mode.site is not None:
        check_writable(target, name)
    array = target._array
    flags = array.flags
    single = flags.c_contiguous or 0 not in array.strides
    if storage.guards or not (single and flags.writeable):
        check_memory(array, name, True)
    fill(array, number)
    code, lasti = caller(getframe(1))
    storage.stamp(array, name, code, lasti)
    target._cut = None
    return target


def is_plain(target: Tensor, name: str, one_value: bool = False) -> bool:
    """Whether nothing is to be recorded, so that `write_plain` will do, after all checks."""
    if type(target) not in tensors or inferences:
        return False
    if mode.site is not None:
        if target._edge is not None:
            return False
        root = getattr(target, "_root", None)
        if root is not None and root._edge is not None:
            check_writable(target, name)
    array = target._array
    flags = array.flags
    single = flags.c_contiguous or 0 not in array.strides
    if storage.guards or not (single and flags.writeable):
        check_memory(array, name, one_value)
    return True


def write_plain(target: Tensor, values: np.ndarray, name: str) -> Tensor:
    """Write an array to all elements of a plain target."""
    array = target._array
    if values.dtype is array.dtype and values.shape == array.shape:
        write_array(array, values)
    else:
        assign(array, values)
    code, lasti = caller(getframe(1))
    storage.stamp(array, name, code, lasti)
    target._cut = None
    return target


def assign(array: np.ndarray, value: np.ndarray) -> None:
    """Copy `value`, broadcast and converted, into an array; nothing is recorded."""
    if value.shape and value.shape != array.shape:
        check_expandable(value.shape, array.shape)
    if value.dtype.kind == "c" != array.dtype.kind:
        value = value.real  # like PyTorch when copying complex values to a real dtype
    if value.dtype is array.dtype:
        write_array(array, value)
        return
    if is_float8(array.dtype):
        value = rounded(value, array.dtype)
    if value.dtype.kind in "biu" and array.itemsize >= 4:  # which never warns
        np.copyto(array, value, casting="unsafe")
        return
    with np.errstate(all="ignore"):  # out-of-range values convert as C does
        np.copyto(array, value, casting="unsafe")


def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `other`, broadcast and converted, into this tensor.

    >>> import wengert
    >>> wengert.zeros(2).copy_(wengert.tensor([1, 2]))
    tensor([1., 2.])
    """
    if type(other) is Tensor and other._edge is None and not putting and is_plain(self, "copy_"):
        write_plain(self, other._array, "copy_")
        self._cut = other._cut
        return self
    if not isinstance(other, Tensor) and not isinstance(other, Number):
        raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(other).__name__}")
    return overwrite(self, other, "copy_")
