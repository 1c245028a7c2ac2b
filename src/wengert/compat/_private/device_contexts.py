"""``torch.utils._device``: a default device for some lines, or for a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.core.device import device as Device


class DeviceContext:
    """Within it tensors are made on a device, as within the device itself."""

    def __init__(self, device: Any) -> None:
        self.device = Device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exception: object) -> None:
        self.device.__exit__(*exception)


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions that make their tensors on a device."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with DeviceContext(device):
                return function(*args, **kwargs)

        return inner

    return decorate


__all__ = ["DeviceContext", "set_device"]
