"""Names of ``torch.serialization`` for annotations and defaults."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any

from wengert.core.device import device

FileLike = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None
DEFAULT_PROTOCOL = 2


def location_tag(storage: Any) -> str:
    """Where a storage is: "cpu", or "meta"."""
    kind: str = storage.device.type
    return kind


__all__ = ["DEFAULT_PROTOCOL", "MAP_LOCATION", "FileLike", "location_tag"]
