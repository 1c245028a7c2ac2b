"""The worker processes of a DataLoader: starting, communicating, stopping."""

from __future__ import annotations

import multiprocessing
import os
import selectors
import signal
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pickle import PicklingError
from time import monotonic
from typing import Any, NoReturn

from wengert.data import _loop
from wengert.data._transport import Slot

_GRACE = 2.0  # seconds workers have to end by themselves
_LOOK = 5.0  # seconds between two looks at whether workers are alive
_UNSENT = (
    "The DataLoader's workers start by {!r}: its dataset and its functions have to be picklable."
    " Define them in a module, or start by multiprocessing_context='fork', where there is that."
)


class Worker:
    """A process, the connection to it, and the slots for its batches."""

    def __init__(self, context: Any, job: _loop.Job, prefetch: int) -> None:
        self.id = job.id
        self.slots: list[Slot] = []
        self.link, theirs = context.Pipe()
        try:
            self.slots += [Slot() for _ in range(prefetch)]
            self.free = list(range(prefetch))
            self.taken: dict[int, int] = {}
            method = context.get_start_method()
            parent = os.getpid() if method == "fork" else None
            job = job._replace(slots=self.slots, parent=parent)
            self.process = context.Process(
                target=_loop.worker_loop, args=(job, theirs), daemon=True
            )
            self.process.start()
        except BaseException as error:
            self.close()
            if isinstance(error, (AttributeError, PicklingError, TypeError)):
                error.add_note(_UNSENT.format(method))
            raise
        finally:
            theirs.close()
        self.pid = self.process.pid

    def take_slot(self, number: int) -> int:
        """A slot for the answer to a task."""
        self.taken[number] = slot = self.free.pop()
        return slot

    def read(self, number: int, sizes: list[int]) -> Any:
        """The answer to a task, whose slot is free again."""
        slot = self.taken.pop(number)
        try:
            return self.slots[slot].read(sizes)
        finally:
            self.free.append(slot)

    def close(self) -> None:
        """Close the connection and release the memory."""
        self.link.close()
        for slot in self.slots:
            slot.close()

    def fate(self) -> str:
        """How the process ended, in a message that begins like PyTorch's."""
        self.process.join(1.0)
        code = self.process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            hint = ", perhaps by the system for want of memory" if name == "SIGKILL" else ""
            return (
                f"DataLoader worker (pid {self.pid}) is killed by signal:"
                f" {signal.strsignal(-code)} ({name}{hint})."
            )
        return (
            f"DataLoader worker (pid(s) {self.pid}) exited unexpectedly with exit code {code}."
            " With num_workers=0 the cause may be easier to see."
        )


class Crew:
    """All workers of one loader. They end with `stop`, with their owner, or with this process."""

    def __init__(self, context: Any, jobs: list[_loop.Job], prefetch: int, owner: Any) -> None:
        context = context or multiprocessing.get_context()
        self.workers: list[Worker] = []
        self._failure = "the DataLoader's workers were ended"
        self._selector = selectors.DefaultSelector()
        self.stop = weakref.finalize(owner, _stop, self.workers, self._selector, os.getpid())
        try:
            for job in jobs:
                worker = Worker(context, job, prefetch)
                self.workers.append(worker)
                self._selector.register(worker.link, selectors.EVENT_READ, worker)
                self._selector.register(worker.process.sentinel, selectors.EVENT_READ, worker)
        except BaseException:
            self.stop()
            raise

    @property
    def stopped(self) -> bool:
        """Whether the workers were ended."""
        return not self.stop.alive

    def send(self, worker: Worker, message: Any) -> None:
        """Send a task, or the start of a new epoch."""
        try:
            worker.link.send(message)
        except OSError:
            self._fail(worker)

    def receive(
        self, deadline: float | None, timeout: float
    ) -> Iterator[tuple[int, Worker, list[int]]]:
        """Wait for answers: the worker, its task, and the sizes to read."""
        if self.stopped:
            raise RuntimeError(self._failure)
        ready: Any = ()
        while not ready:
            wait = _LOOK if deadline is None else min(_LOOK, deadline - monotonic())
            if wait <= 0:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            ready = self._selector.select(wait)
            # A process that a worker started may keep the worker's end of all this open.
            if not ready and (dead := [w for w in self.workers if not w.process.is_alive()]):
                self._fail(dead[0])
        for worker in {key.data.id: key.data for key, _ in ready}.values():
            if not worker.link.poll():  # only its end is left to hear of
                self._fail(worker)
            try:
                number, sizes = worker.link.recv()
            except (EOFError, OSError):
                self._fail(worker)
            yield number, worker, sizes

    def _fail(self, worker: Worker) -> NoReturn:
        self._failure = worker.fate()
        self.stop()
        raise RuntimeError(self._failure)


def _stop(workers: list[Worker], selector: Any, owner: int) -> None:
    if os.getpid() != owner:
        return  # a copy in a process forked from the owner: these are not its children
    selector.close()
    try:
        for worker in workers:
            _ask_to_end(worker)
        deadline = monotonic() + _GRACE
        for worker in workers:
            worker.process.join(max(0.0, deadline - monotonic()))
    finally:
        for worker in workers:
            _end(worker)


def _ask_to_end(worker: Worker) -> None:
    with selectors.DefaultSelector() as room:
        room.register(worker.link, selectors.EVENT_WRITE)
        if room.select(0):  # else it has not looked at its tasks for long
            with suppress(OSError):  # it is gone
                worker.link.send(None)


def _end(worker: Worker) -> None:
    for end in (worker.process.terminate, worker.process.kill):
        if worker.process.is_alive():
            end()
            worker.process.join(1.0)
    worker.close()
