"""The launcher: ``wengert run --nproc N``, and ``python -m torch.distributed.run`` (``torchrun``).

It starts a process for each rank of this machine, with the variables that torchrun sets, holds
the store through which they meet, and ends the others when one fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from wengert.distributed._machines import Machines
from wengert.distributed.errors import DistNetworkError
from wengert.distributed.tcp_store import TCPStore
from wengert.distributed.workers import Output, Worker, Workers

_PORT = 29500
_MEETING = timedelta(minutes=10)
_LAST_CALL = 30.0  # seconds, as torchrun


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of torchrun's arguments.

    >>> from wengert.distributed.run import get_args_parser
    >>> get_args_parser().parse_args(["--nproc-per-node=2", "train.py"]).nproc_per_node
    '2'
    """
    parser = argparse.ArgumentParser(
        prog="torchrun", description="Start a script in several processes, one for each rank."
    )
    add_launch_arguments(parser)
    parser.add_argument("-m", "--module", action="store_true", help="run a module, as python -m")
    parser.add_argument("--no-python", "--no_python", action="store_true",
                        help="run a program that is no Python script")  # fmt: skip
    parser.add_argument("--run-path", "--run_path", action="store_true", help="without effect")
    parser.add_argument("training_script", help="the script, or the module")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def add_launch_arguments(parser: Any) -> None:
    """Add what says how many ranks there are, where they meet and where their output goes."""

    def add(name: str, **options: Any) -> None:
        names = {f"--{name}", f"--{name.replace('-', '_')}"}
        parser.add_argument(*sorted(names), **options)

    add("nnodes", default="1", help="how many machines: N, or MIN:MAX")
    add("nproc-per-node", default="1", help="how many ranks on this machine; auto: one a core")
    add("node-rank", type=int, default=None, help="which of the machines this is")
    add("standalone", action="store_true", help="one machine, a free port")
    add("master-addr", default=None, help="the machine of rank 0")
    add("master-port", type=int, default=None, help="its port")
    add("rdzv-backend", default="static", help="c10d or static: both are the store of the library")
    add("rdzv-endpoint", default="", help="host:port, instead of --master-addr and --master-port")
    add("rdzv-id", default=None, help="the name of the run")
    add(
        "rdzv-conf",
        default="",
        help="last_call_timeout=SECONDS: how long to wait for more machines",
    )
    add("max-restarts", type=int, default=0, help="how often to start again after a failure")
    add("monitor-interval", type=float, default=0.1, help="seconds between looks at the ranks")
    add("log-dir", default=None, help="write each rank's output to files in this folder")
    add("role", default="default", help="without effect")
    add("start-method", default="spawn", help="without effect")
    add("local-addr", default=None, help="without effect")
    parser.add_argument("-r", "--redirects", default="0", help="3: output to --log-dir alone")
    parser.add_argument("-t", "--tee", default="0", help="3: output to --log-dir, and here")


class Place(NamedTuple):
    """Where a machine stands in an attempt."""

    first_rank: int
    size: int
    node: int
    nodes: int


class Launch:
    """What to start, and how often."""

    def __init__(
        self,
        options: Any,
        command: Sequence[str],
        prefix: bool,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.options, self.command, self.prefix = options, list(command), prefix
        self.environment = environment  # of the ranks, beside what is there and what torchrun sets
        self.failures: list[str] = []  # how ranks ended
        self.least, self.count = _ranks_here(options.nproc_per_node)
        least, _, most = str(options.nnodes).partition(":")
        self.least_nodes, self.nodes = int(least), int(most or least)
        self.last_call = _last_call(options.rdzv_conf)
        self.run_id = options.rdzv_id or ("none" if not options.standalone else uuid.uuid4().hex)
        self.restarts = 0

    def run(self) -> int:
        """Start the ranks; return the exit code of the first that failed, or 0."""
        store, node = self._meet()
        machines = None
        if self.nodes > 1:
            machines = Machines(
                store, self.run_id, node, self.least_nodes, self.nodes, self.last_call
            )
        try:
            with tempfile.TemporaryDirectory(prefix="wengert-run-") as folder:
                return self._run_attempts(store, machines, folder)
        except DistNetworkError as error:
            _say(f"the machines do not meet: {error}")
            return 1
        except KeyboardInterrupt:
            # The interpreter ends this process by SIGINT, as the shell expects, and says no more.
            _say("interrupted")
            sys.excepthook = lambda *_: None
            raise
        finally:
            store.close()

    def _run_attempts(self, store: TCPStore, machines: Machines | None, folder: str) -> int:
        while True:
            place = self._place(machines)
            failed = self._start(store, machines, place, folder)
            if machines is not None and failed:
                machines.fail(self.restarts)
            elif not failed and not self._others_failed(machines):
                return 0
            for worker in failed:
                self._report(worker, place, folder)
            if self.restarts >= self.options.max_restarts:
                return _exit_code(failed[0]) if failed else 1
            self.restarts += 1
            lost = sum(worker.process.returncode < 0 for worker in failed)
            again = f"starting again ({self.restarts} of {self.options.max_restarts})"
            if lost and self.count > self.least:
                self.count = max(self.least, self.count - lost)
                again += f" with {self.count} rank{'s' * (self.count > 1)}"
            _say(again)

    def _others_failed(self, machines: Machines | None) -> bool:
        if machines is None:
            return False
        try:
            return machines.has_failed(self.restarts)
        except DistNetworkError:  # the machine that holds the store has ended
            return False

    def _meet(self) -> tuple[TCPStore, int]:
        """The store, which the first machine holds, and the number of this machine."""
        options = self.options
        host, _, port = options.rdzv_endpoint.partition(":")
        host = options.master_addr or host or "127.0.0.1"
        number = options.master_port or (int(port) if port else None)
        if self.nodes == 1:
            # As torchrun: the usual port, unless it is taken, or a free one is asked for.
            if number is None and not options.standalone:
                with contextlib.suppress(DistNetworkError):
                    return TCPStore(host, _PORT, is_master=True, wait_for_workers=False), 0
            return TCPStore(host, number or 0, is_master=True, wait_for_workers=False), 0
        chosen = _PORT if number is None else number
        if options.node_rank is not None:
            master = options.node_rank == 0
            return TCPStore(host, chosen, None, master, _MEETING), options.node_rank
        store = TCPStore(host, chosen, None, _is_here(host), _MEETING, multi_tenant=True)
        return store, store.add(f"{self.run_id}/nodes", 1) - 1

    def _place(self, machines: Machines | None) -> Place:
        """Where the ranks of this machine stand among all."""
        if machines is None:
            return Place(0, self.count, 0, 1)
        entries = machines.join(self.restarts, self.count, _MEETING)
        at = [number for number, _ in entries].index(machines.number)
        counts = [count for _, count in entries]
        return Place(sum(counts[:at]), sum(counts), at, len(counts))

    def _start(
        self, store: TCPStore, machines: Machines | None, place: Place, folder: str
    ) -> list[Worker]:
        workers = []
        for local in range(self.count):
            rank = place.first_rank + local
            environment = {
                **self._environment(store, place),
                "RANK": str(rank),
                "LOCAL_RANK": str(local),
                "ROLE_RANK": str(rank),
                "TORCHELASTIC_ERROR_FILE": _error_file(folder, self.restarts, local),
            }
            workers.append(Worker(rank, self.command, environment, self._output(rank)))
        interval = min(self.options.monitor_interval, 0.05)
        return Workers(workers).wait(interval, lambda: self._others_failed(machines))

    def _environment(self, store: TCPStore, place: Place) -> dict[str, str]:
        environment = {
            **os.environ,
            **self.environment,
            "WORLD_SIZE": str(place.size),
            "ROLE_WORLD_SIZE": str(place.size),
            "ROLE_NAME": self.options.role,
            "LOCAL_WORLD_SIZE": str(self.count),
            "GROUP_RANK": str(place.node),
            "GROUP_WORLD_SIZE": str(place.nodes),
            "MASTER_ADDR": store.host,
            "MASTER_PORT": str(store.port),
            "TORCHELASTIC_RUN_ID": self.run_id,
            "TORCHELASTIC_RESTART_COUNT": str(self.restarts),
            "TORCHELASTIC_MAX_RESTARTS": str(self.options.max_restarts),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }
        threads = str(max(1, _cores() // self.count))
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            environment.setdefault(name, threads)
        return environment

    def _output(self, rank: int) -> Output:
        tee = self.options.tee not in ("0", "")
        folder = self.options.log_dir
        if folder is not None:
            folder = os.path.join(folder, str(self.restarts), str(rank))
        prefix = f"[rank {rank}] " if self.prefix or tee else None
        only_files = folder is not None and self.options.redirects not in ("0", "") and not tee
        return Output(prefix, folder, not only_files)

    def _report(self, failed: Worker, place: Place, folder: str) -> None:
        text = f"rank {failed.rank} (process {failed.process.pid}) ended with {failed.ending()}"
        file = _error_file(folder, self.restarts, failed.rank - place.first_rank)
        with contextlib.suppress(OSError, ValueError, KeyError), open(file) as content:
            text += f": {json.load(content)['message']['message']}"
        self.failures.append(text)
        _say(text)


def _say(text: str) -> None:
    print(f"wengert run: {text}", file=sys.stderr, flush=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _error_file(folder: str, attempt: int, local: int) -> str:
    return os.path.join(folder, f"{attempt}-{local}.json")


def _ranks_here(text: str) -> tuple[int, int]:
    """How many ranks this machine has at least, and at first."""
    if text in ("auto", "cpu"):
        return _cores(), _cores()
    try:
        counts = [int(part) for part in text.split(":")]
    except ValueError:
        counts = []
    if len(counts) not in (1, 2) or not 1 <= counts[0] <= counts[-1]:
        raise ValueError(
            f"Unsupported nproc_per_node value: {text}: expected a number, 'auto', 'cpu' or MIN:MAX"
        )
    return counts[0], counts[-1]


def _last_call(settings: str) -> float:
    """How long machines are waited for once there are enough."""
    named = dict(entry.partition("=")[::2] for entry in settings.split(",") if entry)
    return float(named.get("last_call_timeout", _LAST_CALL))


def _is_here(host: str) -> bool:
    """Whether an address is one of this machine's."""
    import socket

    try:
        with socket.create_server((host, 0)):
            return True
    except OSError:
        return False


def _exit_code(failed: Worker) -> int:
    code = failed.process.returncode
    return code if code > 0 else 128 - code


def command_for(script: str, arguments: Sequence[str], module: bool = False) -> list[str]:
    """The command that runs a script as a rank, under the name of torch."""
    start = [sys.executable, "-m", "wengert", "run", "--quiet", *(["-m"] if module else [])]
    return [*start, script, *arguments]


def main(args: Sequence[str] | None = None) -> None:
    """Run torchrun's command; exits with the code of the first rank that failed."""
    options = get_args_parser().parse_args(args)
    if options.no_python:
        command = [options.training_script, *options.training_script_args]
    else:
        command = command_for(options.training_script, options.training_script_args, options.module)
    status = Launch(options, command, prefix=False).run()
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    main()

__all__ = ["get_args_parser", "main"]
