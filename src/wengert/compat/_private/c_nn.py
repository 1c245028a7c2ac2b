"""``torch._C._nn``: the arguments of ``Module.to``."""

from __future__ import annotations

from typing import Any

from wengert.core.device import device as device_type
from wengert.core.dtypes import dtype as dtype_type
from wengert.core.tensor import Tensor


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Device, dtype, `non_blocking` and memory format of a call of `to`; None where not named."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    other, flag = kwargs.get("tensor"), kwargs.get("non_blocking", False)
    remaining = list(args)
    if remaining and isinstance(remaining[0], Tensor):
        other = remaining.pop(0)
    elif remaining and isinstance(remaining[0], dtype_type):
        dtype = remaining.pop(0)
    elif remaining:
        device = remaining.pop(0)
        if remaining and (remaining[0] is None or isinstance(remaining[0], dtype_type)):
            dtype = remaining.pop(0)
    if remaining:
        flag = remaining.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    place = None if device is None else device_type(device)
    return place, dtype, bool(flag), kwargs.get("memory_format")


__all__ = ["_parse_to"]
