"""Libraries of the optional extra `graph`, imported on first use."""

from __future__ import annotations

import importlib
from typing import Any


def _import_extra(module: str, package: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs {package}, which is not installed: pip install 'wengert[graph]'"
        ) from error


def igraph() -> Any:
    """For the layers of drawings."""
    return _import_extra("igraph", "igraph", "drawing a graph")


def resvg() -> Any:
    """For pictures in PNG."""
    return _import_extra("resvg_py", "resvg-py", "a drawing as PNG")
