"""Compiled kernels on disk: found by what they were made from, and checked before use.

An entry is a digest of its content and the content. What does not match (cut off, written by
another program) is ignored and written again. Entries are written under another name and then
renamed, so that processes never see half of one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

# Bytes of all entries; the ones used longest ago go first.
_CAP = 64 << 20
_DIGEST = 32


def folder() -> Path | None:
    """Where kernels are kept, or None: WENGERT_CACHE, else the user's cache folder.

    With an empty WENGERT_CACHE nothing is kept.

    Only a folder that is the user's own: an object file is code.
    """
    named = os.environ.get("WENGERT_CACHE")
    if named == "":
        return None
    path = (Path(named) if named else _user_cache() / "wengert") / "kernels"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError):
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    return path


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def read(key: str) -> bytes | None:
    """The entry of a key, if it is there and whole."""
    where = folder()
    if where is None:
        return None
    path = where / key
    try:
        data = path.read_bytes()
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            return None
        os.utime(path)
    except OSError:
        return None
    return data[_DIGEST:]


def write(key: str, content: bytes) -> None:
    """Keep an entry; what the disk refuses is not kept."""
    where = folder()
    if where is None:
        return
    try:
        _prune(where, _CAP - len(content))
        handle, temporary = tempfile.mkstemp(dir=where, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, where / key)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return


def _prune(where: Path, room: int) -> None:
    """Remove the entries used longest ago until the others fit."""
    entries = []
    for entry in os.scandir(where):
        try:
            status = entry.stat()
        except OSError:  # another process was faster
            continue
        entries.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= room:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
