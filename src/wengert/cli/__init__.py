"""The command line: ``wengert run``, ``check``, ``alias``, ``compare``, ``show``, ``explain``.

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
    if options.command == "show":
        from wengert.cli._show import print_operation

        status = print_operation(options.op)
        sys.stdout.flush()
        return status
    if options.command == "explain":
        from wengert.cli._explain import print_explanation

        status = print_explanation(options.id)
        sys.stdout.flush()
        return status
    if options.command == "compare":
        from wengert.cli._compare import print_comparison

        status = print_comparison(options.before, options.after, options.report)
        sys.stdout.flush()
        return status
    if options.command == "alias":
        from wengert.cli._alias import run_alias

        return run_alias(options.action)
    if options.command == "check":
        from wengert.cli._check import print_check

        status = print_check(options.target, options.json)
        sys.stdout.flush()
        return status
    if options.command == "run":
        if not options.target:
            options.parser.error("a script is required, or -m and a module")
        from wengert.cli._run import run_program

        return run_program(
            options.target,
            module=options.module,
            quiet=options.quiet,
            report=options.report,
            report_json=options.report_json,
            full_traceback=options.full_traceback,
            package=options.package,
        )
    parser.print_help()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wengert", description="PyTorch's API on NumPy, with a graph that you can see."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show versions and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="run a PyTorch script on wengert",
        description="Run a script with `import torch` giving wengert; then say on stderr what"
        " its backward calls did: operations, memory, which line released the graph.",
        usage="wengert run [--quiet] [--as PACKAGE] [--report FILE] [--report-json FILE]"
        " [--full-traceback] (SCRIPT | -m MODULE) [ARGS ...]",
    )
    run.add_argument(
        "--as", dest="package", choices=["torch", "theano"], default="torch",
        help="the package that wengert stands for: torch, unless this says theano",
    )  # fmt: skip
    run.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    run.add_argument("--quiet", action="store_true", help="print no summary")
    run.add_argument("--report", metavar="FILE", help="write all about the run to an HTML page")
    run.add_argument("--report-json", metavar="FILE", help="write the same as data")
    run.add_argument(
        "--full-traceback", action="store_true", help="show frames inside wengert in tracebacks"
    )
    run.add_argument("target", nargs=argparse.REMAINDER, metavar="SCRIPT", help="and its arguments")
    run.set_defaults(parser=run)

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

    show = commands.add_parser(
        "show",
        help="print an operation's generated source",
        description="Print what an operation saves and the source of its functions; without"
        " OP, the names of all operations.",
    )
    show.add_argument("op", nargs="?", metavar="OP", help="such as mul, torch.mul or F.relu")

    _add_programs(commands)

    explain = commands.add_parser(
        "explain",
        help="explain an error of a graph's life",
        description="Print what an error means, an example and its remedies; without ID, all ids."
        " An error's last line says which id it has.",
    )
    explain.add_argument("id", nargs="?", metavar="ID", help="such as graph-released")
    return parser


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

    alias = commands.add_parser(
        "alias",
        help="install wengert under the name of torch",
        description="Write a package `torch` that is wengert, and its metadata, into the current"
        " environment, so that `import torch` works without `wengert run` and pip takes PyTorch for"
        " installed; remove it; or say what is there.",
    )
    alias.add_argument("action", choices=["install", "remove", "status"])


class _Version(argparse.Action):
    """Prints the versions that a report of an error should name."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        from wengert.cli._data import package_versions

        named = [f"{name} {version}" for name, version in package_versions().items()]
        print(f"{named[0]} ({', '.join(named[1:])})")
        parser.exit()
