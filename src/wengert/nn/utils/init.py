"""Modules without initial values."""

from __future__ import annotations

from typing import Any

from wengert.core import generators
from wengert.core.signatures import signature
from wengert.nn.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Create a module with uninitialized values, without drawing random numbers.

    Args:
        module_cls: a class of modules that takes `device`.
        args: its arguments.
        kwargs: its keyword arguments.

    >>> import wengert
    >>> wengert.nn.utils.skip_init(wengert.nn.Linear, 5, 1).weight.shape
    torch.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = generators.default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        generators.default_generator.set_state(state)


__all__ = ["skip_init"]
