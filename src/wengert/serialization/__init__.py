"""Saving and loading, in PyTorch's file format."""

from wengert.serialization._allowed import add_safe_globals as add_safe_globals
from wengert.serialization._allowed import clear_safe_globals as clear_safe_globals
from wengert.serialization._allowed import get_safe_globals as get_safe_globals
from wengert.serialization._allowed import safe_globals as safe_globals
from wengert.serialization._loading import (
    get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint,
)
from wengert.serialization._loading import load as load
from wengert.serialization._saving import save as save

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
