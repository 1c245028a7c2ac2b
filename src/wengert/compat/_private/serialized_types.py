"""Names of ``torch.serialization`` for annotations."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any

from wengert.core.device import device

FILE_LIKE = str | os.PathLike[str] | IO[bytes]
FileLike = FILE_LIKE
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None

__all__ = ["FILE_LIKE", "MAP_LOCATION", "FileLike"]
