"""What a call leaves behind that only the garbage collector can free."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any


def garbage_of(call: Callable[[], Any]) -> Counter[str]:
    """The types of what a call leaves in reference cycles, when it is called again.

    The first call of much compiles something, which leaves cycles of the compiler's own. An
    exception of the call is dropped.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        found: Counter[str] = Counter()
        for _ in range(3):
            gc.collect()
            gc.freeze()  # what is there already need not be looked through
            _run(call)
            found = _unreachable()
            if not found:
                break
        return found
    finally:
        if was_enabled:
            gc.enable()


def _run(call: Callable[[], Any]) -> None:
    try:
        call()
    except Exception:
        return


def _unreachable() -> Counter[str]:
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
    finally:
        gc.set_debug(0)
    found = Counter(type(value).__name__ for value in gc.garbage)
    gc.garbage.clear()
    return found
