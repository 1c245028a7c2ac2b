"""Work that steps do not wait for: one thread of the process compiles programs."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from typing import Any

from wengert.kernels.jit.pace import EndedError, pace

_lives = count(1)


class Background:
    """A thread that is there while there is work for it.

    Attributes:
        at_once: whether work is done where it is asked for, as tests want it.
        stopped: whether the process comes to its end: work has to come to one, too.
        making: whose programs are waited for, and how many.
        life: the number of this process among those that were forked from each other.
    """

    at_once = False

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[Callable[[], None], Any]] = SimpleQueue()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.waiting, self.stopped = 0, False
        self.making: dict[Any, int] = {}
        self.life = next(_lives)
        pace.end()

    def submit(self, work: Callable[[], None], owner: Any = None) -> None:
        """Have some work done; `owner` is in `making` until then."""
        if self.at_once:
            work()
            return
        with self.lock:
            self.queue.put((work, owner))
            self.waiting += 1
            if owner is not None:
                self.making[owner] = self.making.get(owner, 0) + 1
            if self.waiting == 1:
                self.thread = threading.Thread(target=self._work, name="programs", daemon=True)
                self.thread.start()

    def _work(self) -> None:
        pace.begin()
        while True:
            work, owner = self.queue.get()
            try:
                if not self.stopped:
                    work()
            except EndedError:  # nobody waits for it
                pass
            except Exception as error:  # what waits for it runs as it is
                report = (type(error), error, error.__traceback__, threading.current_thread())
                threading.excepthook(threading.ExceptHookArgs(report))
            del work
            with self.lock:
                if owner is not None:
                    self.making[owner] -= 1
                    if not self.making[owner]:
                        del self.making[owner]
                self.waiting -= 1
                if not self.waiting:
                    self.thread = None
                    pace.end()
                    return

    def stop(self) -> None:
        """Wait until no work is done: the compiler must not outlive the interpreter."""
        self.stopped = pace.ended = True
        thread = self.thread
        if thread is not None:
            thread.join()


background = Background()
atexit.register(background.stop)
if hasattr(os, "register_at_fork"):  # the child has no such thread
    os.register_at_fork(after_in_child=background.__init__)  # type: ignore[misc]
