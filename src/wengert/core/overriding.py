"""`__torch_function__`: who answers in the place of a function of the library.

A class answers for its instances among the arguments, whether or not it derives from Tensor; a
mode answers for every call on its thread. Nobody pays who has neither. The functions that `ops`
generates hand every operand they do not know to `operands.call_foreign`, which asks `overrides`.
All other functions ask once there is a reason to: `core/fronts.py`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable
from types import EllipsisType, FunctionType
from typing import Any

import numpy as np


class Overriding(threading.local):
    """Who is asked on this thread."""

    off = False  # nobody
    subclasses_off = False  # modes alone

    def __init__(self) -> None:
        self.modes: list[Any] = []  # the innermost last


overriding = Overriding()

# Types that are not asked. Tensor and the classes derived from it that answer nothing add
# themselves.
silent: set[type] = {
    bool, int, float, complex, str, bytes, type(None), slice, EllipsisType, type, FunctionType,
    np.ndarray,
}  # fmt: skip


def disabled_torch_function_impl(
    func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """`__torch_function__` of a class that answers nothing: its operations return Tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def answers(kind: type) -> bool:
    """Whether a class has a `__torch_function__` of its own or by inheritance, and uses it."""
    handler = getattr(kind, "__torch_function__", None)
    if handler is None or handler is disabled_torch_function_impl:
        return False
    return kind.__module__.partition(".")[0] != "torch"  # PyTorch's own, beside this library


def overrides(value: Any) -> bool:
    """Whether the class of a value answers for it."""
    kind = type(value)
    return kind not in silent and answers(kind)


def with_elements(values: Iterable[Any]) -> list[Any]:
    """Values and, one level deep, what is in lists and tuples among them."""
    flat: list[Any] = []
    for value in values:
        if type(value) is list or type(value) is tuple:
            flat += value
        else:
            flat.append(value)
    return flat


def answering(values: Iterable[Any]) -> list[Any]:
    """The first of each class that answers, left to right, but subclasses before their bases."""
    asked: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in silent:
            continue
        if not answers(kind):
            if kind.__module__.partition(".")[0] == "wengert":  # dtypes, sizes, generators
                silent.add(kind)
            continue
        if any(type(other) is kind for other in asked):
            continue
        bases = (k for k, other in enumerate(asked) if issubclass(kind, type(other)))
        asked.insert(next(bases, len(asked)), value)
    return asked


def asked_modes() -> bool:
    """Whether a mode is on in this thread."""
    return bool(overriding.modes) and not overriding.off


def ask(func: Any, name: str, asked: list[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The answer of the innermost mode, or else of the first value that has one.

    TypeError where none has.
    """
    types = tuple([type(value) for value in asked])
    handlers: list[Any] = []
    if asked_modes():
        # The mode is off while it answers: its own calls go to those further out.
        mode = overriding.modes.pop()
        try:
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            overriding.modes.append(mode)
        if result is not NotImplemented:
            return result
        handlers.append(mode)
    for value in asked:
        handler = value.__torch_function__
        if getattr(handler, "__self__", None) is value:
            warnings.warn(
                "Defining your `__torch_function__` as a plain method is deprecated and will be an"
                " error in future, please define it as a classmethod."
                f" ({type(value).__name__}.__torch_function__)",
                DeprecationWarning,
                stacklevel=2,
            )
        result = handler(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    modes = f" nor in mode {handlers[0]!r}" if handlers else ""
    raise NoImplementationError(
        f"Multiple dispatch failed for {name!r}; all __torch_function__ handlers returned"
        f" NotImplemented: {list(types)}{modes}"
    )


class NoImplementationError(TypeError):
    """Whoever was asked returned NotImplemented."""


class _Off:
    """A context in which an attribute of `overriding` is true."""

    __slots__ = ("before",)

    attribute: str
    before: bool

    def __enter__(self) -> None:
        self.before = getattr(overriding, self.attribute)
        setattr(overriding, self.attribute, True)

    def __exit__(self, *exception: object) -> None:
        setattr(overriding, self.attribute, self.before)


class DisableTorchFunction(_Off):
    """A context in which no `__torch_function__` is called, of arguments or of modes.

    >>> import wengert
    >>> class Weights(wengert.Tensor):
    ...     pass
    >>> w = wengert.ones(2).as_subclass(Weights)
    >>> with wengert.DisableTorchFunction():
    ...     w * 2
    tensor([2., 2.])
    """

    attribute = "off"


class DisableTorchFunctionSubclass(_Off):
    """A context in which no `__torch_function__` of an argument is called; those of modes are.

    >>> import wengert
    >>> class Weights(wengert.Tensor):
    ...     pass
    >>> w = wengert.ones(2).as_subclass(Weights)
    >>> with wengert.DisableTorchFunctionSubclass():
    ...     w * 2
    tensor([2., 2.])
    """

    attribute = "subclasses_off"
