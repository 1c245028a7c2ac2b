"""A process that has imported what programs import, and runs each of them in a fork of itself.

    python -m tests.cli.host MODULE ...

Reads a request a line, as JSON: files for output and errors, and the arguments of the interpreter.
Answers with the exit status. It computes nothing before it forks: threads would not survive that.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import signal
import sys
from typing import NoReturn


def main() -> None:
    """Serve until the input ends."""
    for module in sys.argv[1:]:
        importlib.import_module(module)
    answers = os.fdopen(os.dup(1), "w")
    while line := sys.stdin.readline():
        child = os.fork()
        if not child:
            _run(*json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _run(output: str, errors: str, *arguments: str) -> NoReturn:
    """Be the interpreter with these arguments, but for the tidying up of what was shared."""
    signal.alarm(300)
    for number, path in enumerate((os.devnull, output, errors)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    code = 0
    try:
        _start(*arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _start(first: str, *more: str) -> None:
    if first == "-m":
        sys.path[0], sys.argv = os.getcwd(), [*more]
        runpy.run_module(more[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = os.path.dirname(first), [first, *more]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main()
