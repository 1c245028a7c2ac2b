"""Work that steps do not wait for: one thread of the process compiles programs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class Background:
    """A thread that is there while there is work for it.

    Attributes:
        at_once: whether work is done where it is asked for, as tests want it.
    """

    at_once = False

    def __init__(self) -> None:
        self.queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.lock = threading.Lock()
        self.waiting = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Have some work done."""
        if self.at_once:
            work()
            return
        with self.lock:
            self.queue.put(work)
            self.waiting += 1
            if self.waiting == 1:
                threading.Thread(target=self._work, name="wengert programs", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.queue.get()()
            with self.lock:
                self.waiting -= 1
                if not self.waiting:
                    return


background = Background()
if hasattr(os, "register_at_fork"):  # the child has no such thread
    os.register_at_fork(after_in_child=background.__init__)  # type: ignore[misc]
