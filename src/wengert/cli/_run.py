"""``wengert run``: an unmodified script as ``__main__``, with wengert under the name of torch.

What a script can see of its own start (argv, path, exit codes, tracebacks) is as under
``python SCRIPT``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys
import time
import traceback
import zipfile
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from wengert import compat
from wengert.cli._report import format_report
from wengert.graph import Recorder

_HERE = os.path.dirname(__file__)


def run(
    target: list[str], *, module: bool = False, quiet: bool = False, report_json: str | None = None
) -> int:
    """Run a script or module with its arguments; returns 0, or leaves as the script left."""
    compat.install()
    recorder = Recorder()
    recorder.start()
    started, process = time.perf_counter(), os.getpid()
    sys.argv = list(target)
    outcome = _outcome(_run_module if module else _run_script, target[0])
    if os.getpid() == process:  # not in a child that the script forked
        recorder.stop()
        seconds = time.perf_counter() - started
        _report(recorder, target[0], seconds, quiet, report_json)
    if outcome is None:
        return 0
    if isinstance(outcome, KeyboardInterrupt):
        # The traceback is printed. Let the interpreter see the interrupt: it runs what is
        # to run at exit, then ends the process by SIGINT, as the shell expects.
        sys.excepthook = lambda *_: None
    raise outcome


def _outcome(start: Callable[[str], None], target: str) -> BaseException | None:
    """How the script ended: None, or what is to be raised; tracebacks are printed here."""
    try:
        start(target)
    except SystemExit as exit:
        return exit.with_traceback(None)
    except BaseException as error:
        _print_traceback(error)
        return error if isinstance(error, KeyboardInterrupt) else SystemExit(1)
    return None


def _run_script(script: str) -> None:
    path = os.path.join(os.getcwd(), script)  # not normalised: so is __file__
    if os.path.isdir(path) or (not path.endswith(".py") and zipfile.is_zipfile(path)):
        _set_first_path(None)
        runpy.run_path(script, run_name="__main__")
        return
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        where = f"{sys.executable}: can't open file {path!r}"
        print(f"{where}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    code = compile(source, path, "exec", dont_inherit=True)
    _run_code(code, path)


def _run_code(code: CodeType, path: str) -> None:
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=path,
        __cached__=None,
        __package__=None,
        __spec__=None,
        __loader__=SourceFileLoader("__main__", path),
        __builtins__=__builtins__,
    )
    # For good: what the script leaves behind (threads, exit handlers) is to find its module.
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _run_module(name: str) -> None:
    _set_first_path(os.getcwd())
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except ImportError as error:
        if not _own_frames_only(error.__traceback__):
            raise
        print(f"{sys.executable}: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _set_first_path(folder: str | None) -> None:
    """Put `folder` where the interpreter put the folder of its own start; None removes that."""
    if not sys.flags.safe_path:
        sys.path[:1] = [] if folder is None else [folder]


def _own_frame(code: CodeType) -> bool:
    file = code.co_filename
    return file.startswith((_HERE, "<frozen runpy>")) or file == runpy.__file__


def _own_frames_only(trace: TracebackType | None) -> bool:
    return all(_own_frame(frame.f_code) for frame, _ in traceback.walk_tb(trace))


def _print_traceback(error: BaseException) -> None:
    """As the interpreter prints it, from the script's first frame on."""
    trace = error.__traceback__
    while trace is not None and _own_frame(trace.tb_frame.f_code):
        trace = trace.tb_next
    error.__traceback__ = trace
    _flush()
    sys.excepthook(type(error), error, trace)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _report(recorder: Recorder, script: str, seconds: float, quiet: bool, file: str | None) -> None:
    """Print and write what was seen; a report that cannot be delivered does no harm."""
    report = recorder.report()
    if file is not None:
        data: dict[str, Any] = {"script": script, "seconds": round(seconds, 3), **report.to_dict()}
        try:
            with open(file, "w", encoding="utf-8") as out:
                json.dump(data, out, indent=2)
                out.write("\n")
        except OSError as error:
            print(f"wengert run: cannot write the report: {error}", file=sys.stderr)
    if not quiet:
        _flush()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(format_report(report, script, seconds))
            sys.stderr.flush()
