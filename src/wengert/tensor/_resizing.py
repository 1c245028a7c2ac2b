"""Tensors that change the memory they refer to."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.autograd import errors
from wengert.autograd.history import set_edge
from wengert.autograd.naming import origin
from wengert.autograd.refusals import refusal_node
from wengert.core.inference import check_written
from wengert.core.layout import contiguous_format, preserve_format
from wengert.core.messages import current_call, message
from wengert.core.references import other_references
from wengert.core.tensor import Leaf, Tensor, inferences, mode, root_of, wrap
from wengert.ops import formats
from wengert.ops.operands import leave_memory, mark_view
from wengert.ops.strided import as_strided
from wengert.tensor._inplace import check_writable, reshaped_inplace
from wengert.tensor.arguments import require_tensor, size_of
from wengert.tensor.storages import TypedStorage, UntypedStorage, elements_of


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape, in its memory if that is large enough, else in new memory.

    Elements keep their positions in memory, new ones are zero. RuntimeError for a tensor that
    requires grad, and if new memory would separate views.

    >>> import wengert
    >>> wengert.tensor([1, 2, 3, 4]).resize_(2, 2)
    tensor([[1, 2],
            [3, 4]])
    """
    shape = size_of("resize_", size)
    if inferences:
        check_written((self,), "resize_")
    if self.requires_grad:
        raise _resizing("cannot resize variables that require grad", self, "resize_()")
    format = formats.check_format("resize_", memory_format, contiguous_format)
    if format is preserve_format:
        raise RuntimeError("resize_(): unsupported memory format torch.preserve_format")
    array = self._array
    if shape == array.shape and memory_format is None:
        return self
    order, offset, count = formats.order_in(format, len(shape)), self.storage_offset(), prod(shape)
    there = elements_of(array)[offset:]
    if there.size < count:
        _check_alone(self)
        larger = np.zeros(count, array.dtype)
        larger[: there.size] = there
        there = larger
        leave_memory(self)
    lines = there[:count].reshape([shape[d] for d in order])
    self._array = lines.transpose(np.argsort(order))
    return self


def _check_alone(tensor: Tensor) -> None:
    """Raise if giving a tensor new memory would separate it from others sharing its memory."""
    root = root_of(tensor)
    views = {id(v) for r in getattr(root, "_views", ()) if (v := r()) is not None}
    if views - {id(tensor)} or (root is not tensor and other_references(root) > 1):
        raise RuntimeError(
            "resize_(): the memory is too small for the new shape, and other tensors show it, a"
            " view or what this is a view of: they would part ways; clone() it first"
        )


def _resizing(head: str, tensor: Tensor, call: str) -> RuntimeError:
    assert tensor._edge is not None
    return RuntimeError(message(
        "resize-requires-grad",
        head,
        [("this call", current_call(call)), ("the tensor", origin(tensor._edge))],
        [
            "another shape of the same elements: reshape()",
            "other memory, without a graph: detach() first, or the same under x.data",
        ],
    ))  # fmt: skip


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor, and with `preserve_format` to its memory order.

    >>> import wengert
    >>> wengert.tensor([1, 2, 3, 4]).resize_as_(wengert.zeros(2, 1))
    tensor([[1],
            [2]])
    """
    require_tensor("resize_as_", "the_template", the_template)
    if memory_format is preserve_format:
        memory_format = formats.suggested(the_template._array)
    return resize_(self, the_template.shape, memory_format=memory_format)


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None,
    stride: Any = None,
) -> Tensor:  # fmt: skip
    """Make the tensor refer to the memory of another tensor or of a storage.

    No gradient flows through this: if the tensor or the source requires grad, differentiating
    later results raises. Under `no_grad()` a leaf stays a leaf.

    >>> import wengert
    >>> x, y = wengert.zeros(2), wengert.ones(3)
    >>> _ = x.set_(y)
    >>> y[0] = 5
    >>> x
    tensor([5., 1., 1.])
    """
    check_writable(self, "set_")
    if source is None:
        view = wrap(np.empty(0, self._outline.dtype))
    else:
        view = _shown(source, self._outline.dtype)
    if view._outline.dtype != self._outline.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {self.dtype} to a tensor of type {view.dtype}"
        )
    if size is not None:
        length = tuple(size)
        steps = tuple(stride) if stride is not None else _dense(length)
        view = as_strided(wrap(elements_of(view._array)), length, steps, storage_offset)
    leave_memory(self)
    self._array = view._array
    history = self._edge or (getattr(source, "_edge", None) if mode.site is not None else None)
    if type(history) is Leaf and history is self._edge:
        history.shape = self._outline.shape
    elif history is not None:
        set_edge(self, refusal_node(history, (history,), _underivable))
    if self._edge is None:
        mark_view(self, source)
    return self


def _underivable() -> Exception:
    return errors.GraphError("derivative for set_ is not implemented: it replaces the memory")


def _shown(source: Any, to: np.dtype[Any]) -> Tensor:
    if isinstance(source, TypedStorage):
        return wrap(source._elements)
    if isinstance(source, UntypedStorage):
        return wrap(source._owner.ravel("K").view(to))
    require_tensor("set_", "source", source)
    return source.detach()


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([prod(shape[d + 1 :]) for d in range(len(shape))])


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in (resize_, resize_as_, set_):
        setattr(define, function.__name__, function)
    define.as_strided_ = reshaped_inplace(as_strided, "as_strided_")
