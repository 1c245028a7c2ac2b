"""``compile`` as an honest no-op: the function runs eagerly, and a warning says so once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from wengert.core.storage import line_of
from wengert.core.tensor import caller, getframe

_told: set[str] = set()


def tell_eager(name: str) -> None:
    """Warn, once for each `name`, that what it was given runs eagerly."""
    if name in _told:
        return
    _told.add(name)
    code, lasti = caller(getframe(1))
    message = f"{name} compiles nothing in wengert: the function runs eagerly, as written"
    warnings.warn_explicit(message, UserWarning, code.co_filename, line_of(code, lasti))


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return `model` as it is; without a model, a decorator that does so.

    >>> import warnings, wengert.compiler
    >>> with warnings.catch_warnings(action="ignore"):
    ...     double = wengert.compiler.compile(lambda x: x * 2)
    >>> double(3)
    6
    """
    if not disable:
        tell_eager("torch.compile")
    if model is None:
        return _unchanged
    if not callable(model):
        raise RuntimeError(f"torch.compile: argument 'model' is {model!r}, expected a callable")
    return model


def _unchanged(function: Any) -> Any:
    return function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return `fn` as it is; without one, a decorator that does so."""
    return _unchanged if fn is None else fn


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def reset() -> None:
    """Nothing to forget."""


def cudagraph_mark_step_begin() -> None:
    """Nothing to mark."""


def is_exporting() -> bool:
    """False."""
    return False


def allow_in_graph(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


assume_constant_result = allow_in_graph


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """An empty list: everything runs eagerly."""
    return []


class set_stance:  # noqa: N801 (PyTorch's name)
    """Accepted, without effect; also a context and a decorator."""

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        pass

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn
