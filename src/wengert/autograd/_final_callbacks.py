"""What hooks ask to be called when the backward that they run in is done."""

from __future__ import annotations

from collections.abc import Callable

from wengert.autograd.engine import Walk, innermost

_KEY = "final callbacks"  # among the walk's notes


def queue_callback(callback: Callable[[], object]) -> None:
    """Call `callback` after the backward that is running, once gradients are in place.

    RuntimeError if none is running on this thread.
    """
    walk = innermost.walk
    if walk is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    walk.notes.setdefault(_KEY, []).append(callback)


def run_final_callbacks(walk: Walk) -> None:
    """Call them, in the order in which they came."""
    if "notes" in vars(walk):
        for callback in walk.notes.get(_KEY, ()):
            callback()
