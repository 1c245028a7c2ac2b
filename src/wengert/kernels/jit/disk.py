"""Compiled kernels on disk: found by what they were made from, and checked before use.

An entry is a digest of its key and its content, and the content. What does not match (cut off,
renamed, written by another program) is ignored and written again. Entries are written under
another name and then renamed, so that processes never see half of one.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

# Bytes of all entries; the ones used longest ago go first.
_CAP = 64 << 20
_DIGEST = 32

_warned: set[Path] = set()  # folders


def folder() -> Path | None:
    """Where kernels are kept, or None: WENGERT_CACHE, else the user's cache folder.

    With an empty WENGERT_CACHE nothing is kept. An object file is code: only a folder is used
    that is the user's own, and that nobody else may write to.
    """
    named = os.environ.get("WENGERT_CACHE")
    if named == "":
        return None
    try:
        path = (Path(named) if named else _user_cache() / "wengert") / "kernels"
    except RuntimeError as error:  # there is no home
        _warn(Path(), f"there is no folder for them ({error})")
        return None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except OSError as error:
        _warn(path, f"the folder {path} cannot be made ({error.strerror or error})")
        return None
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            _warn(path, f"the folder {path} belongs to another user (uid {status.st_uid})")
            return None
        if status.st_mode & 0o022:
            mode = stat.S_IMODE(status.st_mode)
            _warn(path, f"others may write to the folder {path} (its mode is {mode:o})")
            return None
    return path


def _warn(path: Path, reason: str) -> None:
    """Say, once for each folder, why nothing is kept."""
    if path in _warned:
        return
    _warned.add(path)
    warnings.warn(
        f"compiled kernels are not kept, so that each process compiles them again: {reason}. Make"
        " it a folder of your own that nobody else may write to (chmod go-w), or name another one"
        " in the environment variable WENGERT_CACHE; if that is empty, nothing is kept or said.",
        UserWarning,
        stacklevel=3,
    )


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def read(key: str) -> bytes | None:
    """The entry of a key, if it is there and whole."""
    where = folder()
    if where is None:
        return None
    content = read_entry(where / key, key)
    if content is not None:
        with suppress(OSError):  # where the folder may only be read
            os.utime(where / key)
    return content


def read_entry(path: Path, key: str) -> bytes | None:
    """The content of a file, if it is there, whole, and the entry of that key."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _CAP:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return data[_DIGEST:] if _digest(key, data[_DIGEST:]) == data[:_DIGEST] else None


def entry(key: str, content: bytes) -> bytes:
    """What a file holds."""
    return _digest(key, content) + content


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
                file.write(entry(key, content))
            os.replace(temporary, where / key)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        _warn(where, f"the folder {where} cannot be written to ({error.strerror or error})")


def capacity() -> int:
    """The bytes up to which entries are kept."""
    return _CAP


def sizes() -> list[int]:
    """The bytes of each entry."""
    where = folder()
    return [] if where is None else [size for _, size, _ in _entries(where)]


def clear() -> int:
    """Remove all entries; how many there were."""
    where = folder()
    entries = [] if where is None else _entries(where)
    for _, _, path in entries:
        Path(path).unlink(missing_ok=True)
    return len(entries)


def _prune(where: Path, room: int) -> None:
    """Remove the entries used longest ago until the others fit."""
    entries = _entries(where)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= room:
            break
        Path(path).unlink(missing_ok=True)
        total -= size


def _entries(where: Path) -> list[tuple[float, int, str]]:
    """When each entry was last used, its bytes, its path."""
    entries = []
    for entry in os.scandir(where):
        with suppress(OSError):  # another process was faster
            if entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                entries.append((status.st_mtime, status.st_size, entry.path))
    return entries
