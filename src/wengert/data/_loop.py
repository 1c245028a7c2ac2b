"""The loop of a DataLoader worker, and the messages it exchanges with its loader."""

from __future__ import annotations

import os
import pickle
import random
import signal
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from wengert.core import generators
from wengert.data import worker
from wengert.data._transport import Slot
from wengert.data.failures import Failure as Failure
from wengert.data.fetch import DatasetReader, Fetch
from wengert.data.worker import WorkerInfo
from wengert.platform import settings

_WATCH = 1.0  # seconds between two looks at whether the parent is alive


class Task(NamedTuple):
    """A batch to make, and the slot to leave it in."""

    number: int
    slot: int
    indices: Any


class NewEpoch:
    """Sent to persistent workers when a new epoch starts."""


class StreamEnded:
    """The answer to a task after the end of the stream."""


class Job(NamedTuple):
    """The configuration of a worker."""

    id: int
    workers: int
    base_seed: int
    reader: DatasetReader
    init: Callable[[int], None] | None
    slots: Sequence[Slot] = ()
    parent: int | None = None  # the process that it was forked from, if it was


def worker_loop(job: Job, link: Any) -> None:
    """Answer tasks from a connection until told to end, or until the parent is gone."""
    # Ctrl-C reaches every process of a terminal. It is the loader that ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings.set_num_threads(1)
    seed = _seed(job.base_seed, job.id)
    worker._worker_info = WorkerInfo(job.id, job.workers, seed, job.reader.dataset)
    with suppress(EOFError, ConnectionError):  # the loader is gone
        _answer(job, _Inbox(link, job.parent), link)


def _seed(base: int, worker: int) -> int:
    seed = base + worker
    random.seed(seed)
    generators.default_generator.manual_seed(seed)
    # NumPy takes 32 bits at a time; the sequence spreads seeds that differ by one.
    entropy = [worker, base & 0xFFFFFFFF, base >> 32, 0]
    np.random.seed(np.random.SeedSequence(entropy).generate_state(4))
    return seed


def _answer(job: Job, inbox: _Inbox, link: Any) -> None:
    fetch: Fetch | Failure = _started(job, job.init)
    while (task := inbox.next()) is not None:
        if isinstance(task, NewEpoch):
            fetch = _started(job, None)
            continue
        result = fetch if isinstance(fetch, Failure) else _result(fetch, task, job)
        slot = job.slots[task.slot]
        try:
            sizes = slot.write(result)
        except Exception as error:  # what cannot be pickled may raise anything
            sizes = slot.write(_portable(Failure(error, f"in DataLoader worker process {job.id}")))
        link.send((task.number, sizes))


def _started(job: Job, init: Callable[[int], None] | None) -> Fetch | Failure:
    try:
        if init is not None:
            init(job.id)
        return job.reader.start()
    except Exception as error:  # goes to the loader, whatever it is
        return _portable(Failure(error, f"in DataLoader worker process {job.id}"))


def _result(fetch: Fetch, task: Task, job: Job) -> Any:
    try:
        return fetch(task.indices)
    except Exception as error:  # goes to the loader, whatever it is
        if job.reader.streams and isinstance(error, StopIteration):
            return StreamEnded()
        return _portable(Failure(error, f"in DataLoader worker process {job.id}"))


def _portable(failure: Failure) -> Failure:
    """A failure that can be pickled: a class defined inside a function cannot."""
    try:
        pickle.dumps(failure.kind)
    except Exception:  # what cannot be pickled may raise anything
        failure.kind = RuntimeError
    return failure


class _Inbox:
    """Tasks in order of arrival, unless it is time to end."""

    def __init__(self, link: Any, parent: int | None) -> None:
        self.link, self.waiting, self.parent = link, deque[Any](), parent

    def next(self) -> Any:
        """The next task; None if there will be none."""
        while True:
            # All that has come is looked at first: an end counts before the tasks ahead of it.
            while self.link.poll(0 if self.waiting else _WATCH):
                task = self.link.recv()
                if task is None:
                    return None
                self.waiting.append(task)
            if self.waiting:
                return self.waiting.popleft()
            # Siblings that were forked hold the other end of the connection open: it does not
            # show that the parent is dead.
            if self.parent is not None and os.getppid() != self.parent:
                return None
