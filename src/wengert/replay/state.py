"""What runs know of their thread, and of memory that others may write to."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.autograd.engine import anomaly
from wengert.autograd.saved.packing import SaverSite
from wengert.core import storage
from wengert.core.dispatching import dispatching
from wengert.core.exposure import is_exposed
from wengert.core.signals import contextmanager
from wengert.core.storage import owner
from wengert.core.tensor import Site, inferences, mode

if TYPE_CHECKING:
    from wengert.replay.run import Run


# Not empty while some thread is in a compiled function, or has values of one that are deferred.
asking: list[None] = []

# The threads that are in a compiled function.
inside: set[int] = set()


class Entering:
    """The lock of `inside` and `asking`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        inside.clear()


_entering = Entering()
if hasattr(os, "register_at_fork"):  # a thread missing in the child may hold it
    os.register_at_fork(after_in_child=_entering.__init__)  # type: ignore[misc]


def enter() -> None:
    """This thread begins a compiled function."""
    with _entering.lock:
        inside.add(threading.get_ident())
        if not asking:
            asking.append(None)


def stop_asking() -> None:
    """Let fronts stand aside, if no run needs them."""
    if asking:
        with _entering.lock:
            if not inside and not pending_runs:
                asking.clear()


class Active(threading.local):
    """The run of a thread, and how many compiled functions it is inside of."""

    run: Run | None = None
    behind: weakref.ref[Run] | None = None  # the run of a function that has returned
    inside = 0
    whole = False  # whether the innermost of them has to be one program
    busy = False  # an operation is being computed: those that it is made of are not seen
    asked: Run | None = None  # the run, unless the thread is busy

    def __init__(self) -> None:
        # By the identity of an array, the tensors of a compiled function that share it, weakly.
        self.sharing: dict[int, list[Any]] = {}

    def set_run(self, run: Run | None) -> None:
        """Let operations of this thread be part of a run, or of none."""
        self.run = run
        self.asked = None if self.busy else run

    def set_busy(self, busy: bool) -> bool:
        """Say whether an operation is being computed; whether one was before."""
        before, self.busy = self.busy, busy
        self.asked = None if busy else self.run
        return before


active = Active()

# Runs with deferred values: a write to what they read settles them.
pending_runs: dict[int, weakref.ref[Run]] = {}  # by their identity


class InsideSite(SaverSite):
    """A site in a checkpoint that a run is in, where no other saver sees the operations."""

    __slots__ = ()

    def child(self, module: Any) -> InsideSite:
        """The site inside `module`."""
        return InsideSite(self, module)

    def watched(self) -> SaverSite:
        """The same place for others."""
        site = SaverSite(self.parent, plain=self.plain)
        site.module = self.module
        return site


def unusual(in_checkpoint: bool = False) -> bool:
    """Whether somebody else sees the operations of this thread, or they mean something else.

    The run may know the checkpoint that it is in.
    """
    kind = InsideSite if in_checkpoint else Site
    return bool(inferences or dispatching.modes or anomaly.enabled or type(mode.where) is not kind)


def shows_exposed(x: Any) -> bool:
    """Whether others may write to the memory of a tensor or array without notice."""
    if type(x) is np.ndarray:
        return True
    array = x._array  # a name, as `is_exposed` counts
    return is_exposed(array)


def before_write(array: np.ndarray) -> None:
    """A guard of writes: what is to be computed from that memory is computed now."""
    written = id(owner(array))
    if not pending_runs:
        with suppress(ValueError):
            storage.guards.remove(before_write)
    for reference in list(pending_runs.values()):
        run = reference()
        if run is not None and run.reads(written):
            run.settle()


@contextmanager
def computing_at_once() -> Iterator[None]:
    """A context in which operations are computed when they are called."""
    before = active.set_busy(True)
    try:
        yield
    finally:
        active.set_busy(before)
