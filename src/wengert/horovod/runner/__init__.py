"""Programs that start their own ranks: `run`; the command ``horovodrun`` is in `launch.py`."""

from __future__ import annotations

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any


def run(
    func: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    np: int = 1,
    hosts: str | None = None,
    verbose: Any = None,
    use_gloo: bool | None = None,
    use_mpi: bool | None = None,
) -> list[Any]:
    """What a function returns on each of `np` ranks of this machine.

    Args:
        func: an importable function; it calls `hvd.init`.
        args: its arguments.
        kwargs: more of them.
        np: how many ranks.
        hosts: None, or ``"localhost:N"``.
        verbose: without effect.
        use_gloo: without effect.
        use_mpi: without effect.

    RuntimeError with the traceback of the first rank that failed.
    """
    check_hosts(hosts)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    try:
        for rank in range(np):
            own, its = context.Pipe()
            environment = {
                "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(np),
                "LOCAL_WORLD_SIZE": str(np), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            }  # fmt: skip
            call = (its, environment, func, args, kwargs or {})
            process = context.Process(target=_call, args=call, daemon=True)
            process.start()
            its.close()
            pipes.append(own)
            processes.append(process)
        return _answers(pipes)
    finally:
        for process in processes:
            process.join(1.0)
            process.kill()
            process.join()


def _call(pipe: Any, environment: dict[str, str], func: Any, args: Any, kwargs: Any) -> None:
    os.environ.update(environment)
    try:
        pipe.send((True, func(*args, **kwargs)))
    except BaseException:
        pipe.send((False, traceback.format_exc()))
        raise SystemExit(1) from None


def _answers(pipes: list[Any]) -> list[Any]:
    """What the ranks send, in their order; the first that fails ends the wait for others."""
    answers, waiting = {}, {pipe: rank for rank, pipe in enumerate(pipes)}
    while waiting:
        for pipe in connection.wait(list(waiting)):
            rank = waiting.pop(pipe)
            answers[rank] = _answer(rank, pipe)
    return [answers[rank] for rank in range(len(pipes))]


def _answer(rank: int, pipe: Any) -> Any:
    try:
        fine, value = pipe.recv()
    except EOFError:
        fine, value = False, "its process has ended"
    if not fine:
        raise RuntimeError(f"horovod.run(): rank {rank} failed: {value}")
    return value


def check_hosts(hosts: str | None) -> None:
    """ValueError unless hosts are none, or this machine."""
    names = {entry.partition(":")[0] for entry in (hosts or "localhost").split(",")}
    if names - {"localhost", "127.0.0.1", socket.gethostname()}:
        raise ValueError(
            f"hosts {hosts!r}: this starts ranks on this machine alone; start several machines with"
            " `wengert run -m torch.distributed.run --nnodes N SCRIPT` on each, or with mpiexec"
        )


__all__ = ["run"]
