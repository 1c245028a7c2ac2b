"""Names of ``torch.serialization`` for annotations and defaults."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any

from wengert.compat._private import load_options, storage_classes
from wengert.compat._private.load_options import *  # noqa: F403
from wengert.core import layout
from wengert.core.device import device

FileLike = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None
DEFAULT_PROTOCOL = 2


def location_tag(storage: Any) -> str:
    """Where a storage is: "cpu", or "meta"."""
    kind: str = storage.device.type
    return kind


def normalize_storage_type(storage_type: type) -> Any:
    """The class of storages that ``torch`` has by the name of one."""
    return getattr(storage_classes, storage_type.__name__)


def _get_layout(name: str) -> layout.layout:
    """The layout of a name such as "torch.sparse_coo", as pickles of sparse tensors have it."""
    kind = getattr(layout, name.removeprefix("torch."), None)
    if not isinstance(kind, layout.layout):
        raise KeyError(name)
    return kind


__all__ = [
    *load_options.__all__,
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "FileLike",
    "_get_layout",
    "location_tag",
    "normalize_storage_type",
]
