"""``torch._tensor``: where PyTorch defines Tensor, and rebuilds subclasses of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.tensor import Tensor


def _rebuild_from_type_v2(
    func: Callable[..., Any], new_type: type, args: tuple[Any, ...], state: Any
) -> Any:
    """What `func` makes of `args`, as a tensor of a subclass, with the attributes of `state`."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    setstate = getattr(result, "__setstate__", None)
    if setstate is not None and setstate is not getattr(Tensor, "__setstate__", None):
        setstate(state)
    elif state:
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        for name, value in {**(attributes or {}), **(slots or {})}.items():
            setattr(result, name, value)
    return result


__all__ = ["Tensor", "_rebuild_from_type_v2"]
