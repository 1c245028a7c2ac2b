"""Who sees the operations of a thread before they are computed: the modes of `wengert.dispatch`."""

from __future__ import annotations

import threading
from typing import Any

from wengert.core.tensor import thread_states


class Dispatching(threading.local):
    """The dispatch modes of a thread."""

    computing = False  # an operation is being computed: those that it is made of are not seen
    call: Any = None  # the innermost call that a mode answers

    def __init__(self) -> None:
        self.modes: list[Any] = []  # the innermost last


dispatching = Dispatching()
# Not empty once some thread has had a mode: a look at it costs less than at those of a thread.
dispatched: list[None] = []
thread_states.append(dispatching)
