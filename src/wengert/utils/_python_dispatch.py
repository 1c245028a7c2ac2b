"""``torch.utils._python_dispatch``: modes and classes that see the operations of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wengert.core.dispatching import dispatching
from wengert.core.signals import contextmanager
from wengert.core.tensor import Tensor
from wengert.dispatch.modes import BaseTorchDispatchMode as BaseTorchDispatchMode
from wengert.dispatch.modes import TorchDispatchMode as TorchDispatchMode
from wengert.dispatch.modes import current_mode, current_modes, without_modes
from wengert.dispatch.overloads import OpOverload

_get_current_dispatch_mode = current_mode
_get_current_dispatch_mode_stack = current_modes
_disable_current_modes = without_modes


def _push_mode(mode: TorchDispatchMode) -> None:
    mode.__enter__()


def _pop_mode(k: Any = None) -> TorchDispatchMode:
    """End the innermost mode. IndexError where there is none."""
    mode: TorchDispatchMode = dispatching.modes[-1]
    mode.__exit__(None, None, None)
    return mode


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    """A context without the innermost mode."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on in this thread.

    >>> from wengert.utils._python_dispatch import is_in_torch_dispatch_mode
    >>> is_in_torch_dispatch_mode()
    False
    """
    return bool(dispatching.modes)


any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class says how to take its instances apart into plain tensors.

    >>> import wengert
    >>> from wengert.utils._python_dispatch import is_traceable_wrapper_subclass_type
    >>> is_traceable_wrapper_subclass_type(wengert.Tensor)
    False
    """
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor's class says how to take it apart into plain tensors.

    >>> import wengert
    >>> from wengert.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(wengert.ones(1))
    False
    """
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[[str, Tensor], Tensor],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """A wrapper like `t`, of what ``callback(name, tensor)`` makes of each tensor inside.

    >>> import wengert
    >>> from wengert.utils import _python_dispatch
    >>> class Pair(wengert.Tensor):
    ...     def __tensor_flatten__(self):
    ...         return ["first"], None
    ...     @staticmethod
    ...     def __tensor_unflatten__(inner, context, size, stride):
    ...         pair = wengert.zeros(size).as_subclass(Pair)
    ...         pair.first = inner["first"]
    ...         return pair
    >>> pair = wengert.zeros(2).as_subclass(Pair)
    >>> pair.first = wengert.ones(2)
    >>> _python_dispatch.transform_subclass(pair, lambda name, x: x * 3).first
    tensor([3., 3.])
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: OpOverload, args: Any, kwargs: Any, out: Any) -> Any:
    """What `__torch_dispatch__` of a wrapper returns: for an operation that writes to an argument
    that argument, and otherwise `out`.

    >>> import wengert
    >>> from wengert.dispatch import ops
    >>> from wengert.utils._python_dispatch import return_and_correct_aliasing
    >>> x = wengert.ones(1)
    >>> return_and_correct_aliasing(ops.aten.add_.Tensor, (x, 1), {}, wengert.zeros(1)) is x
    True
    """
    schema = func._schema
    by_name = dict(zip([a.name for a in schema.arguments], args, strict=False)) | (kwargs or {})
    written = {
        next(iter(a.alias_info.before_set), ""): by_name.get(a.name)
        for a in schema.arguments
        if a.alias_info is not None and a.is_write
    }
    if not written:
        return out
    outputs = list(out) if isinstance(out, tuple) else [out]
    for k, result in enumerate(schema.returns):
        if result.alias_info is None or not result.is_write or k >= len(outputs):
            continue
        target = written.get(next(iter(result.alias_info.before_set), ""))
        if target is not None:
            outputs[k] = target
    return tuple(outputs) if isinstance(out, tuple) else outputs[0]


__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "any_torch_dispatch_mode_on_stack",
    "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip
