"""``wengert cache``: the compiled kernels on disk."""

from __future__ import annotations

import sys
import time

from wengert.graph.formatting import format_bytes, format_count
from wengert.kernels.jit import available, disk


def run_cache(clear: bool, warm: bool) -> int:
    """Say what is kept, after clearing and warming as asked; returns the exit code."""
    if clear:
        removed = disk.clear()
        print(f"removed {format_count(removed, 'kernel')}")
    if warm:
        if not available():
            print("wengert cache: kernels cannot be compiled here: wengert doctor says why",
                  file=sys.stderr)  # fmt: skip
            return 1
        from wengert.cli._warming import warm_cache

        started = time.perf_counter()
        warm_cache(lambda what: print(f"  {what}", flush=True))
        print(f"compiled in {time.perf_counter() - started:.1f} s")
    print(described())
    return 0 if disk.folder() else 1


def described() -> str:
    """Where kernels are kept, how many, how large."""
    folder = disk.folder()
    if folder is None:
        return "no kernels are kept"
    sizes = disk.sizes()
    used = f"{format_count(len(sizes), 'kernel')}, {format_bytes(sum(sizes))}"
    return f"{folder}: {used} of at most {format_bytes(disk.capacity())}"
