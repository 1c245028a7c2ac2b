"""What nodes are told about the code that they stand for: `torch.fx.traceback`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from wengert.fx.node import Node

F = TypeVar("F", bound=Callable[..., Any])
# What nodes take over from the one that they are made for.
_COPIED = ("nn_module_stack", "stack_trace", "custom")


class _State(threading.local):
    """Whether nodes of this thread take over metadata, and which."""

    def __init__(self) -> None:
        self.preserved = False
        self.meta: dict[str, Any] = {}


_state = _State()


def has_preserved_node_meta() -> bool:
    """Whether `preserve_node_meta` is on."""
    return _state.preserved


def get_current_meta() -> dict[str, Any]:
    """The metadata that nodes take over from here on."""
    return _state.meta


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Have recorded nodes take over what `annotate` says, and metadata of nodes that are run.

    >>> import wengert
    >>> from wengert.fx._traceback import annotate, preserve_node_meta
    >>> with preserve_node_meta(), annotate({"stage": 1}):
    ...     traced = wengert.fx.symbolic_trace(lambda x: x + 1)
    >>> traced.graph.output_node().args[0].meta
    {'custom': {'stage': 1}}
    """
    before = _state.preserved, _state.meta
    _state.preserved, _state.meta = _state.preserved or enable, dict(_state.meta)
    try:
        yield
    finally:
        _state.preserved, _state.meta = before


@contextmanager
def _meta(values: dict[str, Any]) -> Iterator[None]:
    before, _state.meta = _state.meta, values
    try:
        yield
    finally:
        _state.meta = before


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add entries to ``meta["custom"]`` of nodes that are recorded here, if it is preserved."""
    custom = {**_state.meta.get("custom", {}), **annotation_dict}
    with _meta({**_state.meta, "custom": custom}):
        yield


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[F], F]:
    """`annotate` as a decorator."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Have nodes take over the metadata of another one, where it is preserved."""
    if not _state.preserved or not node.meta:
        yield
        return
    with _meta(dict(node.meta)):
        yield


def set_stack_trace(stack: list[str]) -> None:
    """Have nodes take over these lines of code, where it is preserved."""
    if _state.preserved and stack:
        _state.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines of code that nodes take over."""
    return [_state.meta.get("stack_trace", "")]


def taken_over() -> dict[str, Any]:
    """The metadata of a node that is made here."""
    if not _state.preserved:
        return {}
    return {key: _state.meta[key] for key in _COPIED if key in _state.meta}
