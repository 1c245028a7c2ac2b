"""Ranks for tests: processes that have met, and run one function after the other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

SECONDS = 60.0  # for a function, on a machine that does other things as well


def _serve(rank: int, size: int, url: str, apart: bool, pipe: Any) -> None:
    import wengert
    from wengert import distributed
    from wengert.distributed import _endpoint

    if apart:
        _endpoint.machine = lambda: f"machine {rank}"
    wengert.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=url, rank=rank, world_size=size)
    while (job := pipe.recv()) is not None:
        function, arguments = job
        try:
            pipe.send((True, function(rank, size, *arguments)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))
    distributed.destroy_process_group()


class Ranks:
    """A group of processes; `run` calls a function on all of them.

    `apart`: each believes that it is alone on its machine, and reaches the others by TCP.
    """

    def __init__(self, size: int, apart: bool = False) -> None:
        context = multiprocessing.get_context("spawn")
        self.folder = tempfile.TemporaryDirectory()
        url = f"file://{os.path.join(self.folder.name, 'store')}"
        self.pipes, self.processes = [], []
        for rank in range(size):
            own, its = context.Pipe()
            process = context.Process(target=_serve, args=(rank, size, url, apart, its))
            process.start()
            self.pipes.append(own)
            self.processes.append(process)

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What the function returns on each rank; AssertionError with what one raised."""
        for pipe in self.pipes:
            pipe.send((function, arguments))
        end = time.monotonic() + SECONDS
        answers = []
        for rank, pipe in enumerate(self.pipes):
            assert pipe.poll(max(0.0, end - time.monotonic())), f"rank {rank} does not answer"
            answers.append(pipe.recv())
        failures = [f"rank {r}: {value}" for r, (fine, value) in enumerate(answers) if not fine]
        assert not failures, "\n".join(failures)
        return [value for _, value in answers]

    def close(self) -> None:
        """End the processes, however they are."""
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.send(None)
        for process in self.processes:
            process.join(5)
            process.kill()
            process.join()
        self.folder.cleanup()
