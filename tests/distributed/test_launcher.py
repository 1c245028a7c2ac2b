"""Starting ranks, and ending them, by command and by program."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.cli.process import ENVIRONMENT, python
from wengert.distributed.run import Launch, command_for, get_args_parser

START = """
    import os, sys, time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    x = torch.ones(3) * rank
    dist.all_reduce(x)
"""


def script(folder: Path, text: str, start: str = START) -> str:
    file = folder / "train.py"
    file.write_text(textwrap.dedent(start) + textwrap.dedent(text))
    return str(file)


def run(*arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    return python("-m", "wengert", "run", *arguments, timeout=seconds)


def left_behind(file: str) -> list[str]:
    """The processes that still run a script."""
    lines = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
    return [line for line in lines.splitlines() if file in line]


def test_ranks_have_torchruns_variables_and_a_prefix(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        """
        print(x.tolist(), *(os.environ[k] for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE",
              "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RESTART_COUNT")), sys.argv[1:],
              dist.is_torchelastic_launched(), sep="|")
        dist.destroy_process_group()
        """,
    )
    result = run("--nproc", "2", "--log-dir", str(tmp_path / "logs"), file, "--epochs", "3")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [
        f"[rank {r}] [1.0, 1.0, 1.0]|{r}|{r}|2|2|0|0|['--epochs', '3']|True" for r in range(2)
    ]
    logs = sorted((tmp_path / "logs").rglob("stdout.log"))
    assert len(logs) == 2
    assert logs[0].read_text().startswith("[1.0")


@pytest.mark.slow
def test_launchers_of_several_machines_count_their_ranks_together(tmp_path: Path) -> None:
    # In one write: lines of two processes must not mix.
    line = """f'{rank} {os.environ["GROUP_RANK"]} {x[0].item()}\\n'"""
    file = script(tmp_path, f"print({line}, end='', flush=True)\n")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "wengert", "run", "--quiet", "-m", "torch.distributed.run",
               "--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}"]  # fmt: skip
    launchers = [
        subprocess.Popen(
            [*command, f"--node-rank={node}", f"--nproc-per-node={2 - node}", file],
            stdout=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )
        for node in range(2)
    ]  # fmt: skip
    outputs = [launcher.communicate(timeout=60)[0] for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0]
    assert sorted(outputs[0].splitlines()) == ["0 0 3.0", "1 0 3.0"]
    assert outputs[1].splitlines() == ["2 1 3.0"]


@pytest.mark.slow
def test_a_machine_that_is_lost_is_done_without(tmp_path: Path) -> None:
    """Its launcher is killed: the other one starts its ranks again, alone."""
    text = """
        print(f"{dist.get_world_size()} {os.environ['GROUP_WORLD_SIZE']}\\n", end="", flush=True)
        while dist.get_world_size() > 1:
            dist.all_reduce(x)
            time.sleep(0.01)
    """
    file = script(tmp_path, text)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = [
        sys.executable, "-m", "wengert", "run", "--quiet", "-m", "torch.distributed.run",
        "--nnodes=1:2", "--rdzv-conf=last_call_timeout=1", "--max-restarts=1",
        "--master-addr=127.0.0.1", f"--master-port={port}",
    ]  # fmt: skip
    first, second = [
        subprocess.Popen(
            [*command, f"--node-rank={node}", "--nproc-per-node=1", file],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )
        for node in range(2)
    ]  # fmt: skip
    assert first.stdout is not None
    assert first.stdout.readline() == "2 2\n"
    second.kill()
    second.communicate()
    output, errors = first.communicate(timeout=60)
    assert (first.returncode, output) == (0, "1 1\n")
    assert "rank 1 is gone" in errors
    assert "starting again (1 of 1)" in errors


@pytest.mark.skipif(
    shutil.which("mpiexec") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpi4py and mpiexec: pip install 'wengert[mpi]'",
)
def test_ranks_that_mpiexec_starts(tmp_path: Path) -> None:
    file = script(tmp_path, "print(rank, x.tolist(), flush=True)\n")
    command = ["mpiexec", "-n", "2", sys.executable, "-m", "wengert", "run", "--quiet", file]
    result = subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["0 [1.0, 1.0, 1.0]", "1 [1.0, 1.0, 1.0]"]


def test_without_mpi4py_a_rank_of_mpiexec_says_what_to_install(tmp_path: Path) -> None:
    code = """
import os, sys
sys.modules["mpi4py"] = None
os.environ.update(PMI_RANK="0", PMI_SIZE="2")
import wengert.distributed as dist
try:
    dist.init_process_group()
except RuntimeError as error:
    print(error)
"""
    text = python("-c", code).stdout
    assert "pip install 'wengert[mpi]'" in text
    assert len(text.splitlines()) == 1


def test_a_killed_rank_ends_the_others_which_name_it(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        """
        before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
        if rank == 1:
            os.kill(os.getpid(), 9)
        dist.all_reduce(x)
        """,
    )
    result = run("--nproc", "2", file)
    assert result.returncode == 128 + signal.SIGKILL
    assert "all_reduce #2, train.py:11; rank 1 is gone (process" in result.stderr
    assert "it last reached all_reduce #1 (float32, 3 elements, SUM), train.py:6" in result.stderr
    assert "ended with signal SIGKILL" in result.stderr
    assert left_behind(file) == []


def test_a_rank_that_raises_is_quoted_and_restarts_resume(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        """
        from torch.distributed.elastic.multiprocessing.errors import record
        @record
        def main():
            if rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                raise ValueError("out of luck")
            dist.all_reduce(x)
            print("done\\n", end="", flush=True)  # one write: lines must not mix
        main()
        """,
    )
    arguments = "--standalone", "--nproc-per-node=2", "--max-restarts=1", file
    result = run("-m", "torch.distributed.run", *arguments)
    assert result.returncode == 0, result.stderr
    assert "rank 1 gave up: it raised ValueError: out of luck, train.py:12" in result.stderr
    assert "ended with exit code 1: ValueError: out of luck" in result.stderr
    assert result.stdout.splitlines() == ["done", "done"]


@pytest.mark.slow
def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    file = script(tmp_path, 'print("started", flush=True)\ntime.sleep(60)\n')
    command = [sys.executable, "-m", "wengert", "run", "--nproc", "2", file]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert process.stdout is not None
    for _ in range(2):
        assert "started" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert "workers.py" not in errors
    assert errors.endswith("wengert run: interrupted\n")
    assert left_behind(file) == []


SPAWN = """
    import sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp

    def main(rank, url, action):
        dist.init_process_group("gloo", init_method=url, rank=rank, world_size=2)
        dist.barrier()
        if action == "sleep":
            print("started\\n", end="", flush=True)
            time.sleep(60)
        if rank == 1:
            raise ValueError("bad batch")
        dist.barrier()

    if __name__ == "__main__":
        url = f"file://{__file__}.store"
        mp.spawn(main, args=(url, sys.argv[1]), nprocs=2)
"""


def test_the_cause_of_a_failure_is_what_spawn_raises(tmp_path: Path) -> None:
    file = script(tmp_path, SPAWN, start="")
    result = run("--quiet", file, "raise")
    assert "Process 1 terminated with the following error" in result.stderr
    assert "ValueError: bad batch" in result.stderr
    assert "is gone" not in result.stderr
    assert left_behind(file) == []


@pytest.mark.slow
def test_processes_of_spawn_end_with_a_program_that_is_interrupted(tmp_path: Path) -> None:
    file = script(tmp_path, SPAWN, start="")
    command = [sys.executable, "-m", "wengert", "run", "--quiet", file, "sleep"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert process.stdout is not None
    for _ in range(2):
        assert "started" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert left_behind(file) == []


@pytest.mark.slow
def test_ranks_end_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    file = script(tmp_path, 'print("started", flush=True)\ntime.sleep(60)\n')
    command = [sys.executable, "-m", "wengert", "run", "--nproc", "2", file]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    process.kill()
    process.communicate()
    end = time.monotonic() + 10
    while left_behind(file) and time.monotonic() < end:
        time.sleep(0.1)
    assert left_behind(file) == []


def test_programs_that_start_their_own_ranks(tmp_path: Path) -> None:
    """By spawning, without torchrun's variables; by threads of one rank, alone."""
    file = script(
        tmp_path,
        """
        def main(rank, url):
            dist.init_process_group("gloo", init_method=url, rank=rank, world_size=2)
            x = torch.ones(2)
            dist.all_reduce(x)
            assert x.tolist() == [2.0, 2.0]
            dist.destroy_process_group()

        if __name__ == "__main__":
            os.environ.update(RANK="0", WORLD_SIZE="1")
            dist.init_process_group()
            x = torch.ones(2)
            dist.all_reduce(x)
            dist.destroy_process_group()
            mp.spawn(main, (f"file://{sys.argv[1]}",), nprocs=2)
            assert not os.path.exists(sys.argv[1])
            print("done", x.tolist())
        """,
        "import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp\n",
    )
    result = run("--quiet", file, str(tmp_path / "store"))
    assert result.stdout == "done [1.0, 1.0]\n", result.stderr


def test_commands() -> None:
    for wrong in ("many", "0", "3:2", "2:", ":2"):
        with pytest.raises(ValueError, match=f"nproc_per_node value: {wrong}"):
            Launch(get_args_parser().parse_args([f"--nproc_per_node={wrong}", "a.py"]), [], False)
    command = command_for("a.py", ["-x"])
    assert command[1:] == ["-m", "wengert", "run", "--quiet", "a.py", "-x"]
    assert os.path.basename(command[0]).startswith("python")
