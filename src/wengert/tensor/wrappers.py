"""Subclasses of Tensor with a `__torch_dispatch__`, and instances that have no data of their own.

Their class is asked about each operation that meets them, as a dispatch mode is. A wrapper only
says what it is like; what it is made of are attributes, which its class knows.
"""

from __future__ import annotations

from importlib import import_module
from math import prod
from typing import Any

from wengert.core.dispatching import dispatching
from wengert.core.dtypes import defaults
from wengert.core.forks import compile_lock
from wengert.core.outline import Outline
from wengert.core.tensor import Tensor, new


class WrapperOutline(Outline):
    """The outline of a wrapper: whoever asks for elements is refused."""

    __slots__ = ("offset",)

    offset: int  # how many elements its class says lie before its first one

    def refusal(self) -> Exception:
        """The error for reading elements."""
        return RuntimeError(
            "this tensor is a wrapper and has no data of its own: the function that was called is"
            " not one that its class's __torch_dispatch__ is asked about; call it on the tensors"
            " inside"
        )


class _Watched:
    """Whether some class has been given instances."""

    begun = False


def dispatches(kind: type) -> bool:
    """Whether a class defines a `__torch_dispatch__`."""
    handler = getattr(kind, "__torch_dispatch__", None)
    return handler is not None and getattr(handler, "__func__", handler) is not _PLAIN


def watch(kind: type) -> None:
    """Have operations ask, from now on, the classes of their arguments, if this one is to be."""
    if dispatches(kind) and not _Watched.begun:
        with compile_lock:
            _Watched.begun = True
            import_module("wengert.dispatch.interception").begin()


def _make_wrapper_subclass(
    cls: type[Tensor], size: Any, strides: Any = None, storage_offset: Any = None,
    memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, **options: Any,
) -> Tensor:  # fmt: skip
    """An instance of a class that has a shape, strides and a dtype, and no data."""
    if not dispatches(cls):
        raise RuntimeError(
            f"{cls.__name__} must define __torch_dispatch__ for _make_wrapper_subclass()"
        )
    watch(cls)
    element = (dtype or defaults.dtype).np
    shape = tuple([int(n) for n in size])
    steps = _contiguous(shape) if strides is None else [int(n) for n in strides]
    outline: Any = WrapperOutline(shape, element, tuple([s * element.itemsize for s in steps]))
    outline.offset = 0 if storage_offset is None else int(storage_offset)
    instance = new(cls)
    instance._array, instance._edge, instance._cut = outline, None, None
    instance._root = None
    return instance.requires_grad_() if requires_grad else instance


def _contiguous(shape: tuple[int, ...]) -> list[int]:
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def _computed(cls: type[Tensor], func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Compute an operation on the memory of its arguments, whatever their class."""
    call = dispatching.call
    if call is not None and call.has(func, args, kwargs or {}):
        return call.run()
    computing, dispatching.computing = dispatching.computing, True
    try:
        return func.run(args, kwargs or {})
    finally:
        dispatching.computing = computing


_PLAIN = _computed


def bind() -> None:
    """Give Tensor what subclasses call."""
    define: Any = Tensor
    define._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
    define.__torch_dispatch__ = classmethod(_computed)
