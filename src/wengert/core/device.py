"""torch.device: where a tensor lives: on the CPU, or without memory on the meta device."""

from __future__ import annotations

import threading
from typing import Any

_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga",
    "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


# Devices without an index, by type. They never change, so that there is one of each.
_plain: dict[str, device] = {}


class device:  # noqa: N801 (PyTorch's name)
    """A device type with an optional index; as a context, the default device.

    Any of PyTorch's devices can be named and compared; tensors are on ``cpu`` or on ``meta``.

    >>> import wengert
    >>> wengert.device("cuda", 1).type
    'cuda'
    >>> wengert.zeros(2).device == wengert.device("cpu")
    True
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | device, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        plain = index is None and isinstance(type, str)
        known = _plain.get(type) if plain else None
        if known is not None:
            return known
        kind, number = _parse(type, index)
        self = object.__new__(cls)
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", number)
        if plain and number is None:
            _plain[type] = self
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{number})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        meta = on_meta(self)
        default_device.outer.append(default_device.meta)
        default_device.meta = meta
        return self

    def __exit__(self, *exception: object) -> None:
        default_device.meta = default_device.outer.pop()


def _parse(text: Any, index: Any) -> tuple[str, int | None]:
    """The type and index that ``device(text, index)`` names."""
    if isinstance(text, int) and not isinstance(text, bool):
        raise RuntimeError(
            f"Cannot access accelerator device when none is available: device({text}); this"
            " library computes on 'cpu'"
        )
    if not isinstance(text, str):
        raise TypeError(
            f"device(): argument 'type' (position 1) must be str, not {type(text).__name__}"
        )
    if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
        raise TypeError(
            f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}"
        )
    kind, colon, number = text.partition(":")
    if kind not in _TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(_TYPES)} device type at start of device string: {text}"
        )
    if colon:
        if index is not None:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly:"
                f" {text}"
            )
        if not (number.isascii() and number.isdecimal()) or (number[0] == "0" and number != "0"):
            raise RuntimeError(f"Invalid device string: '{text}'")
        return kind, int(number)
    if index is not None and index < 0:
        raise RuntimeError(f"Device index must not be negative, got {index}")
    return kind, index


class OutOfMemoryError(RuntimeError):
    """Raised by PyTorch when a device is out of memory; never raised here."""


cpu = device("cpu")


class DefaultDevice(threading.local):
    """Where this thread makes tensors when no device is given: on the CPU, or on meta."""

    meta = False
    fake: Any = None  # makes, from an outline and a device, what stands for a tensor with memory

    def __init__(self) -> None:
        self.outer: list[bool] = []  # what was the default outside the contexts that are entered


default_device = DefaultDevice()


def on_meta(where: Any) -> bool:
    """Whether `where` names the meta device; raises unless it names that or the CPU.

    None stands for the default device. Where tensors are fake, none has memory.
    """
    if where is None:
        return default_device.meta
    if default_device.fake is not None:
        return True
    if where is cpu:
        return False
    if device(where).type == "meta":
        return True
    check_cpu(where)
    return False


def check_cpu(where: Any) -> None:
    """Raise unless `where` names the CPU (None does)."""
    if where is None or where is cpu:
        return
    named = device(where)
    if named.type == "cpu":
        return
    hint = f" (device='{named}' was asked for; this library computes on 'cpu')"
    if named.type in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {named.type.upper()} enabled{hint}")
    raise NotImplementedError(f"Could not run on the '{named.type.upper()}' backend{hint}")
