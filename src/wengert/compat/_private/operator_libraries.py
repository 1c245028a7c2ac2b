"""``torch.ops`` and ``torch.classes`` as far as they load what packages compiled for PyTorch."""

from __future__ import annotations

import os
from typing import NoReturn


def load_library(path: str | os.PathLike[str]) -> NoReturn:
    """Raises OSError, as PyTorch does where a library does not fit: it needs PyTorch's own."""
    raise OSError(
        f"{os.fspath(path)}: was compiled for PyTorch and needs its libraries, which wengert"
        " does not have"
    )


__all__ = ["load_library"]
