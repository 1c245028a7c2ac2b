"""``torch.multiprocessing``: the standard module, with PyTorch's additions.

Tensors that `Tensor.share_memory_` moved are shared with processes that are forked; to those
that are spawned, and through queues, tensors are copied.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import time
import traceback
from collections.abc import Callable
from typing import Any


class ProcessException(Exception):  # noqa: N818 (PyTorch's name)
    """What a process of `spawn` died of."""

    def __init__(self, msg: str, error_index: int, pid: int | None) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process of `spawn` raised; the text holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process of `spawn` left with an exit code or a signal."""

    def __init__(self, msg: str, error_index: int, pid: int | None, exit_code: int | None) -> None:
        super().__init__(msg, error_index, pid)
        self.exit_code = exit_code


_GRACE = 1.0  # seconds for other processes to say why one of them has failed, or to end

# Called in a process of `spawn` with the exception that ends it.
ending: list[Callable[[BaseException], None]] = []


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except Exception as error:
        for tell in ending:
            tell(error)
        errors.put((getattr(error, "of_another_rank", False), traceback.format_exc()))
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that `spawn` started.

    >>> import wengert.multiprocessing as mp
    >>> mp.spawn(print, nprocs=0, join=False).join()
    True
    """

    def __init__(self, processes: list[Any], error_files: list[Any]) -> None:
        self.processes, self._queues = processes, error_files
        self._errors: dict[int, tuple[bool, str]] = {}  # whether of another's failure, and text

    def pids(self) -> list[int | None]:
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for some process to end; True once all have. The first that failed is raised."""
        waiting = {p.sentinel: p for p in self.processes if p.is_alive()}
        if waiting:
            multiprocessing.connection.wait(list(waiting), timeout)
        if not self._failed():
            return all(p.exitcode == 0 for p in self.processes)
        if not self._causes():
            self._wait(_GRACE)
        cause = (self._causes() or self._failed())[0]
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
        self._raise(cause)
        return True

    def interrupt(self) -> None:
        """End all: those that were not interrupted as this process was, by a signal."""
        self._wait(_GRACE)
        for process in self.processes:
            process.terminate()
        self._wait(_GRACE)
        for process in self.processes:
            process.kill()
            process.join()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _failed(self) -> list[int]:
        return [i for i, p in enumerate(self.processes) if p.exitcode not in (0, None)]

    def _causes(self) -> list[int]:
        """Those that did not fail because of others."""
        failed = self._failed()
        for index in failed:
            if index not in self._errors and not self._queues[index].empty():
                self._errors[index] = self._queues[index].get()
        return [i for i in failed if not self._errors.get(i, (False, ""))[0]]

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        if index in self._errors:
            text = f"\n\n-- Process {index} terminated with the following error:\n"
            raise ProcessRaisedException(text + self._errors[index][1], index, process.pid)
        code = process.exitcode
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        raise ProcessExitedException(
            f"process {index} terminated with {how}", index, process.pid, code
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in `nprocs` processes; see `spawn`.

    >>> import wengert.multiprocessing as mp
    >>> mp.start_processes(print, nprocs=0)
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        errors.append(context.SimpleQueue())
        process = context.Process(target=_run, args=(fn, index, args, errors[-1]), daemon=daemon)
        process.start()
        processes.append(process)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    try:
        while not started.join():
            pass
    except KeyboardInterrupt:
        started.interrupt()
        raise
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in fresh processes, i from 0 to `nprocs` - 1.

    Args:
        fn: a function of a module, so that it can be found by its name.
        args: what it gets besides its number.
        nprocs: how many processes.
        join: wait for all, and raise what the first that failed died of; else return a
            `ProcessContext` at once.
        daemon: whether the processes end with this one.
        start_method: see `multiprocessing.set_start_method`.

    >>> import wengert.multiprocessing as mp
    >>> mp.spawn(print, nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def get_all_sharing_strategies() -> set[str]:
    """How memory can be shared: through files without a name.

    >>> import wengert.multiprocessing as mp
    >>> mp.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """How memory is shared.

    >>> import wengert.multiprocessing as mp
    >>> mp.get_sharing_strategy()
    'file_descriptor'
    """
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted, without effect: there is one way.

    >>> import wengert.multiprocessing as mp
    >>> mp.set_sharing_strategy("file_system")
    """


def __getattr__(name: str) -> Any:
    # Queue, Process, Pool, set_start_method and all the others.
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(multiprocessing, name)


__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
