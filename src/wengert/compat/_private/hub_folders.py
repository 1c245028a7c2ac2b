"""Names of ``torch.hub`` about where things are kept, what files are called, and progress."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlparse

from wengert.compat._private import progress

ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home() -> str:
    """The folder for everything that is downloaded: ``$TORCH_HOME``, else in the user's cache."""
    cache = os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.environ.get(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def __getattr__(name: str) -> Any:
    return getattr(progress, name)  # tqdm, imported when asked for


__all__ = [  # noqa: F822
    "DEFAULT_CACHE_DIR",
    "ENV_TORCH_HOME",
    "ENV_XDG_CACHE_HOME",
    "HASH_REGEX",
    "_get_torch_home",
    "tqdm",
    "urlparse",
]
