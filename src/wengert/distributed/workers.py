"""The processes that a launcher starts on one machine, their output and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

# How long the others may go on after one has failed: they say which rank they lost.
_GRACE = 3.0
_TERMINATION = 5.0

PIPE_VARIABLE = "WENGERT_LAUNCHER_PIPE"


class Output:
    """Where a rank writes: to the launcher's own streams, with a prefix or without, or to files."""

    def __init__(self, prefix: str | None, folder: str | None, tee: bool) -> None:
        self.prefix, self.folder, self.tee = prefix, folder, tee

    def streams(self, name: str) -> Any:
        """What `Popen` gets for stdout or stderr."""
        if self.folder is not None and not self.tee:
            os.makedirs(self.folder, exist_ok=True)
            return open(os.path.join(self.folder, f"{name}.log"), "wb")
        return subprocess.PIPE if self.prefix is not None or self.folder is not None else None


class Worker:
    """One rank's process."""

    def __init__(
        self, rank: int, command: Sequence[str], environment: dict[str, str], output: Output
    ) -> None:
        self.rank = rank
        # The rank reads from it, and ends when this process does.
        read, self._alive = os.pipe()
        streams = {name: output.streams(name) for name in ("stdout", "stderr")}
        try:
            self.process = subprocess.Popen(
                list(command),
                env={**environment, PIPE_VARIABLE: str(read)},
                pass_fds=(read,),
                start_new_session=True,
                stdin=None if rank == 0 else subprocess.DEVNULL,
                **streams,
            )
        finally:
            os.close(read)
            for stream in streams.values():
                if hasattr(stream, "close"):
                    stream.close()
        pairs = ("stdout", self.process.stdout, sys.stdout), ("stderr", self.process.stderr,
                                                              sys.stderr)  # fmt: skip
        self._readers = [
            threading.Thread(target=_forward, args=(pipe, own, output, name), daemon=True)
            for name, pipe, own in pairs
            if pipe is not None
        ]
        for reader in self._readers:
            reader.start()

    def signal(self, number: int) -> None:
        """Signal the process and those that it started."""
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, number)

    def close(self) -> None:
        """Wait for the last output."""
        with contextlib.suppress(OSError):
            os.close(self._alive)
        for reader in self._readers:
            reader.join(1.0)

    def ending(self) -> str:
        """How it ended."""
        code = self.process.returncode
        if code is None or code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"


def _forward(pipe: IO[bytes], own: Any, output: Output, name: str) -> None:
    prefix = (output.prefix or "").encode()
    with contextlib.ExitStack() as stack:
        file = None
        if output.folder is not None:
            os.makedirs(output.folder, exist_ok=True)
            file = stack.enter_context(open(os.path.join(output.folder, f"{name}.log"), "wb"))
        for line in stack.enter_context(pipe):
            if file is not None:
                file.write(line)
                file.flush()
            with contextlib.suppress(OSError, ValueError):
                own.buffer.write(prefix + line)
                own.flush()


class Workers:
    """All ranks of this machine."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.workers = list(workers)

    def wait(self, interval: float, is_over: Callable[[], bool]) -> list[Worker]:
        """Wait for all to end, or until all is over elsewhere; those that failed, the cause first.

        `is_over` is asked each second.
        """
        asked = time.monotonic()
        try:
            while True:
                codes = [worker.process.poll() for worker in self.workers]
                failed = [w for w, c in zip(self.workers, codes, strict=True) if c not in (0, None)]
                if failed:
                    self._wait_for(_GRACE)
                    followers = [
                        worker
                        for worker in self.workers
                        if worker not in failed and worker.process.poll() not in (0, None)
                    ]
                    return [*sorted(failed, key=_by_cause), *followers]
                if all(code == 0 for code in codes):
                    return []
                if time.monotonic() > asked + 1.0:
                    asked = time.monotonic()
                    if is_over():
                        self._wait_for(_GRACE)  # they may say what they miss
                        return [w for w in self.workers if w.process.poll() not in (0, None)]
                time.sleep(interval)
        except KeyboardInterrupt:
            for worker in self.workers:
                worker.signal(signal.SIGINT)
            self._wait_for(_TERMINATION)
            raise
        finally:
            self.end()

    def _wait_for(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while any(worker.process.poll() is None for worker in self.workers):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def end(self) -> None:
        """End those that still run, and whatever ranks left behind."""
        if not self._wait_for(0):
            for worker in self.workers:
                if worker.process.poll() is None:
                    worker.signal(signal.SIGTERM)
            self._wait_for(_TERMINATION)
        for worker in self.workers:
            worker.signal(signal.SIGKILL)
        self._wait_for(_TERMINATION)
        for worker in self.workers:
            worker.close()


def _by_cause(worker: Worker) -> tuple[bool, int]:
    """Those that were killed before those that noticed."""
    return worker.process.returncode >= 0, worker.rank


def end_with_launcher() -> None:
    """In a rank: end when the launcher does, however it does."""
    number = os.environ.pop(PIPE_VARIABLE, "")
    if not number:
        return
    pipe = int(number)
    os.set_inheritable(pipe, False)

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(pipe, 1)  # nothing is ever written
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="launcher").start()


__all__ = ["Output", "Worker", "Workers", "end_with_launcher"]
