"""Kernels that the package brings along, compiled for levels of processors.

`tools/prebuild.py` writes them, for wheels: a checkout has none, or those of other sources, which
are not found. They are checked as what is on disk is.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from wengert.kernels.jit import disk
from wengert.kernels.jit.targets import LEVELS, Level, level_key, processor

FOLDER = Path(__file__).parent.parent / "prebuilt"


@cache
def level() -> Level | None:
    """The level whose kernels this processor runs; None without, or with WENGERT_PREBUILT=0."""
    if os.environ.get("WENGERT_PREBUILT") == "0":
        return None
    served = [one for one in LEVELS.values() if one.serves(processor())]
    return served[-1] if served and (FOLDER / served[-1].name).is_dir() else None


def read(name: str) -> bytes | None:
    """The object code of a module, if it is there and whole."""
    found = level()
    if found is None:
        return None
    key = level_key(found, name)
    return disk.read_entry(FOLDER / found.name / key, key)


def store(made: Level, name: str, content: bytes) -> None:
    """Add a module's object code."""
    key = level_key(made, name)
    folder = FOLDER / made.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / key).write_bytes(disk.entry(key, content))


def count() -> int:
    """The number of modules that this processor is served with."""
    found = level()
    return 0 if found is None else len(os.listdir(FOLDER / found.name))
