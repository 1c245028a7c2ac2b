"""``horovodrun -np N python SCRIPT``, on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from wengert.distributed.run import Launch, command_for, get_args_parser
from wengert.horovod.runner import check_hosts


def parse_args(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read horovodrun's arguments.

    >>> from wengert.horovod.runner.launch import parse_args
    >>> parse_args(["-np", "2", "python", "train.py"]).np
    2
    """
    parser = argparse.ArgumentParser(
        prog="horovodrun", description="Start a script in several processes, one for each rank."
    )
    parser.add_argument("-np", "--num-proc", dest="np", type=int, required=True, help="how many")
    parser.add_argument("-H", "--hosts", help="localhost:N")
    for option in ("--gloo", "--mpi", "--verbose", "--disable-cache"):
        parser.add_argument(option, action="store_true", help="without effect")
    parser.add_argument("--output-filename", help="write each rank's output to files there")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="python SCRIPT [ARGS ...]")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("a command is required: python SCRIPT [ARGS ...]")
    return options


def run_commandline(arguments: Sequence[str] | None = None) -> None:
    """Start the ranks; exits with the code of the first that failed."""
    options = parse_args(arguments)
    check_hosts(options.hosts)
    command = list(options.command)
    if command[0].rpartition("/")[2].startswith("python"):
        command = command[1:]
    module = command[0] == "-m"
    script = command[int(module) :]
    launch = ["--standalone", f"--nproc-per-node={options.np}"]
    if options.output_filename:
        launch += ["--log-dir", options.output_filename, "--tee", "3"]
    torchrun = get_args_parser().parse_args([*launch, script[0]])
    status = Launch(torchrun, command_for(script[0], script[1:], module), prefix=True).run()
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    run_commandline()

__all__ = ["parse_args", "run_commandline"]
