"""Names of ``torch.serialization`` for annotations and defaults."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any

from wengert.core.device import device

FileLike = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None
DEFAULT_PROTOCOL = 2

__all__ = ["DEFAULT_PROTOCOL", "MAP_LOCATION", "FileLike"]
