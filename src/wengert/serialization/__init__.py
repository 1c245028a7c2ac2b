"""Saving and loading, in PyTorch's file format.

`_saving.py` and `_loading.py` are the ways in. A file is a zip archive (`archives.py`) of a pickle
and of storages (`_storages.py`). `_machine.py` reads the pickle without running code from it: it
builds only what `_names.py` lists and `_allowed.py` lets through.
"""

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
