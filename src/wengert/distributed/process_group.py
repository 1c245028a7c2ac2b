"""`ProcessGroup`: ranks that call collectives together, and `Work`: a collective under way.

A collective that is waited for runs in the thread that calls it. One with ``async_op=True`` runs
in the group's own thread, and so do all that are called before that is done: every rank goes
through the collectives of a group in the order of their calls.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from wengert.autograd.profiling.recording import exchange_event
from wengert.core import storage
from wengert.core.tensor import Tensor, caller, getframe
from wengert.distributed._communicator import Collective, Communicator, Site
from wengert.distributed._mailbox import Mailbox
from wengert.distributed.errors import DistBackendError
from wengert.distributed.futures import Future
from wengert.distributed.observers import observed_time, tell_exchange, tell_wait


class Work:
    """A collective or message under way.

    >>> from wengert.distributed import Work
    >>> work = Work()
    >>> work.is_completed()
    False
    """

    def __init__(self, result: Any = None, source: int = -1) -> None:
        self._future: Future[Any] = Future()
        self._result, self._source = result, source
        self._error: BaseException | None = None

    def _finish(self, error: BaseException | None = None) -> None:
        self._error = error
        if error is None:
            self._future.set_result(self._result)
        else:
            failure = error if isinstance(error, Exception) else DistBackendError(str(error))
            self._future.set_exception(failure)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done: True; raises what went wrong.

        RuntimeError if it is not done within `timeout`.
        """
        seconds = timeout.total_seconds() if timeout else None
        self._future.wait_for(seconds)
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._future.done()

    def is_success(self) -> bool:
        """Whether it is done, and nothing went wrong."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong, if anything did."""
        return self._error

    def result(self) -> list[Tensor]:
        """The tensors that it wrote."""
        self.wait()
        return list(self._result or [])

    def get_future(self) -> Future[Any]:
        """The future of the list of tensors that it writes."""
        return self._future

    def source_rank(self) -> int:
        """The rank that a message came from."""
        return self._source

    _source_rank = source_rank

    def synchronize(self) -> None:
        """Wait, as `wait`."""
        self.wait()


class ProcessGroup:
    """Some of the ranks, which call collectives together. `new_group` makes one.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.group.WORLD.size()
    1
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, name: str, ranks: Sequence[int], rank: int, backend: str, description: str = ""
    ) -> None:
        self.group_name, self.ranks, self._rank = name, tuple(ranks), rank
        self.backend, self.group_desc = backend, description or "undefined"
        self.store: Any = None
        self.communicator: Communicator | None = None  # None: of one rank, which needs nobody
        self.mailbox: Mailbox | None = None
        self.neighbours = 1
        self._number = -1 if len(self.ranks) > 1 else 0  # meeting is number 0
        self._mutex = threading.Lock()
        self._running = threading.Lock()
        self._jobs: deque[tuple[Callable[[], Any], Work]] = deque()
        self._outstanding = 0
        self._wake = threading.Condition(self._mutex)
        self._thread: threading.Thread | None = None

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the backend."""
        return self.backend

    def get_group_store(self) -> Any:
        """The store through which the group met."""
        return self.store

    def run(
        self,
        name: str,
        signature: str,
        algorithm: Callable[[Communicator], Any],
        written: Sequence[Tensor] = (),
        async_op: bool = False,
        seconds: float | None = None,
        given: Sequence[Tensor] | None = None,
    ) -> Work | None:
        """Call a collective: an algorithm on the communicator, which writes some tensors.

        `given` are those that this rank sends, if not the same ones.
        """
        for tensor in written:
            storage.before_write(tensor._array)
        where = Site()
        code, lasti = caller(getframe(1))
        work = Work(list(written))
        with self._mutex:
            self._number += 1
            collective = Collective(name, signature, self._number, where)

            def job() -> None:
                self._perform(collective, algorithm, seconds)
                storage.stamp_all([t._array for t in written], name, code, lasti)

            queued = async_op or self._outstanding > 0
            self._outstanding += 1
            if queued:
                self._jobs.append((job, work))
                self._start_thread()
                self._wake.notify()
            else:
                self._running.acquire()
        with exchange_event(f"{self.backend}:{name}", written if given is None else given):
            if not queued:
                self._run_here(job)
            elif not async_op:
                work.wait()
        return work if async_op else None

    def _run_here(self, job: Callable[[], Any]) -> None:
        begin = observed_time()
        try:
            job()
        finally:
            tell_wait(begin)
            self._running.release()
            with self._mutex:
                self._outstanding -= 1

    def _perform(
        self, collective: Collective, algorithm: Callable[..., Any], seconds: float | None
    ) -> None:
        comm = self.communicator
        if comm is None:
            algorithm(_Alone())
            return
        begin = observed_time()
        comm.begin(collective, seconds)
        try:
            algorithm(comm)
        except BaseException as error:
            comm.interrupted(error)
            raise
        finally:
            comm.end()
            sent, comm.sent = comm.sent, 0
            where = collective.where
            tell_exchange(begin, collective.name, where, comm.key, collective.number, sent)

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work_off, daemon=True, name=f"group {self.group_name}"
            )
            self._thread.start()

    def _work_off(self) -> None:
        while True:
            with self._mutex:
                while not self._jobs:
                    if self._thread is None:
                        return
                    self._wake.wait()
                job, work = self._jobs.popleft()
            error: BaseException | None = None
            with self._running:
                try:
                    job()
                except BaseException as raised:
                    error = raised
            with self._mutex:
                self._outstanding -= 1
            work._finish(error)
            del job, work, error

    def shutdown(self) -> None:
        """Leave the group."""
        with self._mutex:
            thread, self._thread = self._thread, None
            self._wake.notify()
        if self.communicator is not None:
            self.communicator.close()
        if self.mailbox is not None:
            self.mailbox.close()
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)

    abort = shutdown

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r} of ranks {list(self.ranks)}>"


class _Alone:
    """What algorithms need to know where there is one rank."""

    rank, size, ranks = 0, 1, (0,)

    def round(self, outgoing: Any) -> dict[int, list[np.ndarray]]:
        """Nobody sends anything."""
        return {}


__all__ = ["ProcessGroup", "Work"]
