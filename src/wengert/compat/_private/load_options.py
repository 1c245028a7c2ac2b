"""``torch.serialization``: settings of files, and errors of other devices."""

from __future__ import annotations

import mmap
from enum import Enum
from types import ModuleType
from typing import Any

from wengert.core.device import device


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class SourceChangeWarning(Warning):
    """The source of a module differs from that of the one that was saved: never raised."""


class _Settings:
    """What the functions below set."""

    endianness: LoadEndianness | None = None
    checksums = True
    mapping: int = mmap.MAP_PRIVATE


def get_default_load_endianness() -> LoadEndianness | None:
    """What `set_default_load_endianness` set."""
    return _Settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Accepted, without effect: files say their byte order."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "Invalid argument type in function set_default_load_endianness: expected a"
            f" LoadEndianness or None, not {type(endianness).__name__}"
        )
    _Settings.endianness = endianness


def get_crc32_options() -> bool:
    """What `set_crc32_options` set."""
    return _Settings.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Accepted, without effect: checksums are always written."""
    _Settings.checksums = compute_crc32


def get_default_mmap_options() -> int:
    """What `set_default_mmap_options` set."""
    return _Settings.mapping


class set_default_mmap_options:  # noqa: N801 (PyTorch's name)
    """Accepted, without effect: mapped files are private. Also a context."""

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE"
                f" or mmap.MAP_SHARED, but got {flags}"
            )
        self.before, _Settings.mapping = _Settings.mapping, flags

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None:
        _Settings.mapping = self.before


def check_module_version_greater_or_equal(
    module: ModuleType, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's version is at least another one."""
    version: Any = module.__version__
    kinds = map(type, req_version_tuple)
    try:
        return tuple(k(p) for k, p in zip(kinds, version.split("."), strict=False)) >= (
            req_version_tuple
        )
    except ValueError as error:
        if error_if_malformed:
            raise RuntimeError(
                f"'{module.__name__}' module version string is malformed '{version}' and cannot be"
                f" compared with tuple {req_version_tuple}"
            ) from error
        return True


def validate_cuda_device(location: str) -> Any:
    """Raise RuntimeError: there is no GPU to load to; ValueError for another kind of device."""
    if device(location).type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {location}")
    raise RuntimeError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False:"
        " load with map_location=torch.device('cpu')"
    )


__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "check_module_version_greater_or_equal",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "validate_cuda_device",
]
