"""The command line: ``wengert run``, ``summary``, ``doctor``, ``check``, ``explain`` and others.

`main` parses arguments and calls the module of a command, which returns an exit code. `_run.py` is
the one to read first: it runs a script, with `_watch.py` observing it, and hands a `Run`
(`_data.py`) to `_report.py` (the summary), to ``--report-json`` and to `_page` (``--report``).
`_compare.py` reads two such files back through `_changes.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (by default, those of the process) ask for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return _dispatch(parser, options)
    except BrokenPipeError:
        # `wengert show mul | head`: nobody reads on. Python would flush stdout at exit and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run a command; its module is loaded with it alone."""
    if options.command is None:
        parser.print_help()
        return 0
    status: int = options.start(options)
    sys.stdout.flush()
    return status


def _start_run(options: argparse.Namespace) -> int:
    if not options.target:
        options.parser.error("a script is required, or -m and a module")
    if options.compiled and (options.report or options.report_json or options.package != "torch"):
        options.parser.error(
            "--compile goes with neither --report, which sees each operation, nor --as theano"
        )
    if options.nproc is not None:
        from wengert.cli._ranks import run_ranks

        return run_ranks(options)
    from wengert.cli._run import run_program

    return run_program(
        options.target,
        module=options.module,
        quiet=options.quiet,
        report=options.report,
        report_json=options.report_json,
        full_traceback=options.full_traceback,
        package=options.package,
        compiled=options.compiled,
    )


def _start_compare(options: argparse.Namespace) -> int:
    from wengert.cli._compare import print_comparison

    return print_comparison(options.before, options.after, options.report)


def _start_summary(options: argparse.Namespace) -> int:
    from wengert.cli._summary import print_summary

    return print_summary(options.target, options.input, options.meta, options.json)


def _start_show(options: argparse.Namespace) -> int:
    from wengert.cli._show import print_operation

    return print_operation(options.op)


def _start_check(options: argparse.Namespace) -> int:
    from wengert.cli._check import print_check

    return print_check(options.target, options.json)


def _start_alias(options: argparse.Namespace) -> int:
    from wengert.cli._alias import run_alias

    return run_alias(options.action)


def _start_explain(options: argparse.Namespace) -> int:
    from wengert.cli._explain import print_explanation

    return print_explanation(options.id)


def _start_doctor(options: argparse.Namespace) -> int:
    from wengert.cli._doctor import print_diagnosis

    return print_diagnosis(options.json)


def _start_cache(options: argparse.Namespace) -> int:
    from wengert.cli._cache import run_cache

    return run_cache(options.clear, options.warm)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wengert", description="PyTorch's API on NumPy, with a graph that you can see."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show versions and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    _add_run(commands)

    compare = commands.add_parser(
        "compare",
        help="compare two runs",
        description="Print what has changed between two runs whose data `wengert run --report-json`"
        " wrote: time, memory and floating-point operations by line and module, and which findings"
        " are new or gone.",
    )
    compare.add_argument("before", metavar="BEFORE", help="the data of the earlier run")
    compare.add_argument("after", metavar="AFTER", help="the data of the later run")
    compare.add_argument("--report", metavar="FILE", help="write it all to an HTML page")
    compare.set_defaults(start=_start_compare)

    show = commands.add_parser(
        "show",
        help="print an operation's generated source",
        description="Print what an operation saves and the source of its functions; without"
        " OP, the names of all operations.",
    )
    show.add_argument("op", nargs="?", metavar="OP", help="such as mul, torch.mul or F.relu")
    show.set_defaults(start=_start_show)

    _add_programs(commands)

    explain = commands.add_parser(
        "explain",
        help="explain an error of a graph's life",
        description="Print what an error means, an example and its remedies; without ID, all ids."
        " An error's last line says which id it has.",
    )
    explain.add_argument("id", nargs="?", metavar="ID", help="such as graph-released")
    explain.set_defaults(start=_start_explain)
    _add_machine(commands)
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run",
        help="run a PyTorch script on wengert",
        description="Run a script with `import torch` giving wengert; then say on stderr what"
        " its backward calls did: operations, memory, which line released the graph.",
        usage="wengert run [--quiet] [--as PACKAGE] [--compile] [--report FILE]"
        " [--report-json FILE] [--full-traceback]"
        " [--nproc N [--no-prefix] [--log-dir DIR] [--max-restarts K]]"
        " (SCRIPT | -m MODULE) [ARGS ...]",
    )
    run.add_argument(
        "--as", dest="package", choices=["torch", "theano"], default="torch",
        help="the package that wengert stands for: torch, unless this says theano",
    )  # fmt: skip
    run.add_argument(
        "--compile", dest="compiled", action="store_true",
        help="compile the script's training steps, and say what became of them",
    )  # fmt: skip
    run.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    run.add_argument("--quiet", action="store_true", help="print no summary")
    run.add_argument(
        "--report",
        metavar="FILE",
        help="write all about the run to an HTML page; with --nproc, a lane for each rank",
    )
    run.add_argument("--report-json", metavar="FILE", help="write the same as data")
    run.add_argument(
        "--full-traceback", action="store_true", help="show frames inside wengert in tracebacks"
    )
    _add_ranks(run)
    run.add_argument("target", nargs=argparse.REMAINDER, metavar="SCRIPT", help="and its arguments")
    run.set_defaults(parser=run, start=_start_run)


def _add_ranks(run: argparse.ArgumentParser) -> None:
    """The options of a run in several processes."""
    run.add_argument(
        "--nproc", metavar="N", help="run in N processes, ranks of torch.distributed; MIN:MAX:"
        " with --max-restarts, go on with fewer when some are killed",
    )  # fmt: skip
    run.add_argument("--no-prefix", action="store_true", help="with --nproc: leave output as it is")
    run.add_argument("--log-dir", metavar="DIR", help="with --nproc: also write it to files there")
    run.add_argument(
        "--max-restarts",
        type=int,
        default=0,
        metavar="K",
        help="with --nproc: start again so often",
    )


def _add_programs(commands: Any) -> None:
    """The commands that are about programs written for PyTorch, but for `run`."""
    check = commands.add_parser(
        "check",
        help="say what of torch a program uses that is missing here",
        description="Read a script, the scripts of a folder or an installed package, without"
        " running anything, and list the names of torch in it that wengert lacks or that differ,"
        " with file and line. The exit status is 1 if something is missing.",
    )
    check.add_argument("target", metavar="SCRIPT_OR_PACKAGE")
    check.add_argument("--json", action="store_true", help="print the findings as data")
    check.set_defaults(start=_start_check)

    summary = commands.add_parser(
        "summary",
        help="say what a model is made of",
        description="Print the layers of a model: shapes, parameters, floating-point operations,"
        " and the bytes that they keep for backward.",
    )
    summary.add_argument(
        "target", metavar="MODULE:FACTORY", help="such as models:Net or train.py:make_model"
    )
    summary.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[DTYPE:]SIZE,SIZE,...",
        help="the shape of an argument of the model, such as 1,3,224,224 or int64:8,128; again"
        " for more of them",
    )
    summary.add_argument(
        "--meta", action="store_true", help="build it without memory: shapes and parameters alone"
    )
    summary.add_argument("--json", action="store_true", help="print the figures as data")
    summary.set_defaults(start=_start_summary)

    alias = commands.add_parser(
        "alias",
        help="install wengert under the name of torch",
        description="Write a package `torch` that is wengert, and its metadata, into the current"
        " environment, so that `import torch` works without `wengert run` and pip takes PyTorch for"
        " installed; remove it; or say what is there.",
    )
    alias.add_argument("action", choices=["install", "remove", "status"])
    alias.set_defaults(start=_start_alias)


def _add_machine(commands: Any) -> None:
    """The commands that are about the machine."""
    doctor = commands.add_parser(
        "doctor",
        help="say what wengert computes with, and what is wrong",
        description="Print versions, processor, threads, BLAS, kernels and their cache, and what is"
        " wrong with them, with remedies. The exit status is 1 if something is wrong.",
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as data")
    doctor.set_defaults(start=_start_doctor)

    cache = commands.add_parser(
        "cache",
        help="show, clear or fill the cache of compiled kernels",
        description="Print where compiled kernels are kept, how many there are and how large they"
        " are.",
    )
    cache.add_argument("--clear", action="store_true", help="remove all kernels")
    cache.add_argument(
        "--warm", action="store_true", help="compile the kernels of typical networks now"
    )
    cache.set_defaults(start=_start_cache)


class _Version(argparse.Action):
    """Prints the versions that a report of an error should name."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        from wengert.cli._data import package_versions

        named = [f"{name} {version}" for name, version in package_versions().items()]
        print(f"{named[0]} ({', '.join(named[1:])})")
        parser.exit()
