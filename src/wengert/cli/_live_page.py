"""The page of ``wengert run --report`` while the script runs: written anew from time to time."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from time import perf_counter

_FIRST = 2.0  # seconds until the first page
_SHARE = 0.04  # of the time that the pages may take


class LivePage:
    """Writes what is known so far, at a backward call, as often as its share of the time allows."""

    def __init__(self, path: str, page: Callable[[], str]) -> None:
        self._path, self._page = path, page
        self._due = perf_counter() + _FIRST

    def update(self) -> None:
        """Write the page if it is time to; a reader sees the one before or this one, whole."""
        begin = perf_counter()
        if begin < self._due:
            return
        _replace(self._path, self._page())
        end = perf_counter()
        self._due = end + max(_FIRST, (end - begin) / _SHARE)


def _replace(path: str, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".report-")
    try:
        with open(handle, "w", encoding="utf-8", errors="replace") as out:
            out.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
