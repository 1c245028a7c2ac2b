"""Shared helpers of layers: tuples from numbers, and parameters without values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.device import on_meta
from wengert.core.tensor import Tensor, mode, wrap
from wengert.meta.tensors import without_memory
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.ops.weights import note_use


def tuple_of(value: Any, n: int) -> tuple[Any, ...]:
    """`value` repeated n times, or its elements if it is a sequence."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return tuple(value)
    return (value,) * n


def empty_tensor(*size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """A tensor to be filled by initialisation."""
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {list(size)}"
        )
    kind = (dtype or dtypes.defaults.dtype).np
    if on_meta(device):
        return without_memory(size, kind, where=device)
    return wrap(np.empty(size, kind))


def parameter(*size: int, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter to be filled by initialisation."""
    return Parameter(empty_tensor(*size, device=device, dtype=dtype))


def parameter_of(module: Module, name: str) -> Any:
    """`module.name`, at a fraction of the time for a parameter: Python looks elsewhere first."""
    kind: Any = type(module)
    own = module.__dict__
    table = own.get("_parameters", ())
    if name in table and name not in own and _is_left_to_modules(kind, name):
        return table[name]
    return getattr(module, name)


@lru_cache(1024)
def _is_left_to_modules(kind: type[Module], name: str) -> bool:
    """Whether a class has no attribute of its own in a parameter's place, nor a way to find one."""
    usual = kind.__getattribute__ is object.__getattribute__ and not hasattr(kind, name)
    return usual and kind.__getattr__ is Module.__getattr__


def used(weight: Any) -> Any:
    """A weight about to be used: of a parameter, kernels may keep it as they read it."""
    if type(weight) is Parameter and (weight._edge is None or mode.site is None):
        note_use(weight)
    return weight


def full_tensor(value: float, *size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """A tensor filled with one value."""
    kind = (dtype or dtypes.defaults.dtype).np
    if on_meta(device):
        return without_memory(size, kind, where=device)
    return wrap(np.full(size, value, kind))
