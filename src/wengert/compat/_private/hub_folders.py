"""Names of ``torch.hub`` about where things are kept, and what files are called."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import Any
from urllib.parse import urlparse

ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        return _progress_bar()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _progress_bar() -> Any:
    """The package tqdm's, if it is there; ImportError otherwise."""
    return import_module("tqdm").tqdm


def _get_torch_home() -> str:
    """The folder for everything that is downloaded: ``$TORCH_HOME``, else in the user's cache."""
    cache = os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.environ.get(ENV_TORCH_HOME, os.path.join(cache, "torch")))


__all__ = [
    "DEFAULT_CACHE_DIR",
    "ENV_TORCH_HOME",
    "ENV_XDG_CACHE_HOME",
    "HASH_REGEX",
    "_get_torch_home",
    "tqdm",  # noqa: F822 (a package that may be missing)
    "urlparse",
]
