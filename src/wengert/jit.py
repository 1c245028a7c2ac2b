"""``torch.jit`` for scripts that can do without: functions and modules stay Python."""

from __future__ import annotations

from typing import Any

from wengert.compiler import tell_eager


def script(obj: Any, optimize: None = None, example_inputs: Any = None) -> Any:
    """Return `obj`, a function, class or module, as it is; a warning says so once.

    >>> import warnings, wengert.jit
    >>> with warnings.catch_warnings(action="ignore"):
    ...     double = wengert.jit.script(lambda x: x * 2)
    >>> double(3)
    6
    """
    tell_eager("torch.jit.script")
    return obj


def trace(func: Any, example_inputs: Any = None, **options: Any) -> Any:
    """Return `func` as it is: what depends on Python values stays dynamic."""
    tell_eager("torch.jit.trace")
    return func


def script_if_tracing(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """Return the function as it is; also a decorator with arguments."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


def export(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False
