"""Tensors that change which memory they show."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert import _layout
from wengert._core import Tensor, inferences, wrap
from wengert._inference import check_written
from wengert._messages import here, message
from wengert.autograd._errors import origin
from wengert.ops._operands import show
from wengert.ops.strided import as_strided
from wengert.tensor._arguments import require_tensor, size_of
from wengert.tensor._storages import TypedStorage, UntypedStorage, elements_of


def resize_(self: Tensor, *size: Any, memory_format: Any = _layout.contiguous_format) -> Tensor:
    """Give the tensor another shape; its memory stays, or if it is too small is replaced.

    The elements that were in memory keep their places, new ones are zero.

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
    array = self._array
    if shape == array.shape:
        return self
    offset, count = self.storage_offset(), prod(shape)
    there = elements_of(array)[offset:]
    if there.size < count:
        larger = np.zeros(count, array.dtype)
        larger[: there.size] = there
        there = larger
    self._array = there[:count].reshape(shape)
    return self


def _resizing(head: str, tensor: Tensor, call: str) -> RuntimeError:
    assert tensor._edge is not None
    return RuntimeError(message(
        "resize-requires-grad",
        head,
        [("this call", here(call)), ("the tensor", origin(tensor._edge))],
        [
            "another shape of the same elements: reshape()",
            "other memory, without a graph: detach() first, or the same under x.data",
        ],
    ))  # fmt: skip


def resize_as_(
    self: Tensor, the_template: Tensor, *, memory_format: Any = _layout.contiguous_format
) -> Tensor:
    """`resize_` to the shape of another tensor.

    >>> import wengert
    >>> wengert.tensor([1, 2, 3, 4]).resize_as_(wengert.zeros(2, 1))
    tensor([[1],
            [2]])
    """
    require_tensor("resize_as_", "the_template", the_template)
    return resize_(self, the_template.shape)


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None,
    stride: Any = None,
) -> Tensor:  # fmt: skip
    """Let the tensor show the memory of another, or of a storage, from now on.

    >>> import wengert
    >>> x, y = wengert.zeros(2), wengert.ones(3)
    >>> _ = x.set_(y)
    >>> y[0] = 5
    >>> x
    tensor([5., 1., 1.])
    """
    if inferences:
        check_written((self,), "set_")
    if self.requires_grad:
        what = "set_(): the tensor requires grad, and its history would be lost"
        raise _resizing(what, self, "set_()")
    if source is None:
        self._array = np.empty(0, self._array.dtype)
        return self
    shown = _shown(source, self._array.dtype)
    if shown._array.dtype != self._array.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {self.dtype} to a tensor of type {shown.dtype}"
        )
    if size is not None:
        length = tuple(size)
        steps = tuple(stride) if stride is not None else _dense(length)
        shown = as_strided(wrap(elements_of(shown._array)), length, steps, storage_offset)
    self._array = shown._array
    show(self, source)
    return self


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
