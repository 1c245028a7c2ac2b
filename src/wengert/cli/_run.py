"""``wengert run``: an unmodified script as ``__main__``, with wengert as torch or theano.

What a script can see of its own start (argv, path, exit codes, tracebacks) is as under
``python SCRIPT``.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import time
import traceback
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING

from wengert import compat
from wengert.cli._colour import Palette
from wengert.cli._data import Ending, Run, exited, failed
from wengert.cli._report import format_report
from wengert.core.fronts import arm_for_classes
from wengert.core.tracebacks import shorten
from wengert.graph import Recorder

if TYPE_CHECKING:
    from wengert.cli._compiling import Compiling
    from wengert.cli._lanes import RankLanes
    from wengert.cli._watch import Observations, Watch

PIPE_VARIABLE = "WENGERT_LAUNCHER_PIPE"  # set for the ranks that a launcher starts
LANES_VARIABLE = "WENGERT_LANES"  # the folder in which they put what they note for a report

_HERE = os.path.dirname(__file__)


def run_program(
    target: list[str],
    *,
    module: bool = False,
    quiet: bool = False,
    report: str | None = None,
    report_json: str | None = None,
    full_traceback: bool = False,
    package: str = "torch",
    compiled: bool = False,
) -> int:
    """Run a script or module with its arguments; returns 0, or leaves as the script left."""
    compat.install(package)
    if package == "torch":
        compat.install("horovod")
    lanes = _begin_rank() if PIPE_VARIABLE in os.environ else None
    report, report_json = output_path(report), output_path(report_json)
    recorder = Recorder()
    watch = _watch(recorder) if report or report_json else None
    compiling = _compiling() if compiled else None
    if compiling is None:  # what records backwards sees them one operation at a time
        recorder.start()
    started, process = time.perf_counter(), os.getpid()
    began, folder = time.strftime("%Y-%m-%d %H:%M:%S"), _folder(target[0], module)
    file = "" if module else os.path.join(os.getcwd(), target[0])
    sys.argv = list(target)

    def run_so_far(ending: Ending, observations: Observations | None, now: float) -> Run:
        summary = recorder.report()
        if watch is not None:
            summary.findings = watch.findings(summary.findings)
        return Run(
            script=target[0], arguments=tuple(target[1:]), file=file, folder=folder, began=began,
            seconds=now - started, ending=ending, report=summary,
            observations=observations,
        )  # fmt: skip

    if watch is not None:
        if report is not None:
            watch.after_call = _live(report, watch, run_so_far)
        watch.start()
    outcome, ending = _outcome(_run_module if module else _run_script, target[0], full_traceback)
    if os.getpid() == process:  # not in a child that the script forked
        now = time.perf_counter()
        if lanes is not None:
            lanes.stop(ending)
        if compiling is not None:
            _deliver_summary(compiling, quiet, target[0], now - started)
            return _left(outcome)
        recorder.stop()
        observations = None if watch is None else watch.stop()
        _deliver(run_so_far(ending, observations, now), quiet, report, report_json)
    return _left(outcome)


def _begin_rank() -> RankLanes | None:
    """End with the launcher; note for it what it wants to know."""
    from wengert.distributed.workers import end_with_launcher

    end_with_launcher()
    folder = os.environ.pop(LANES_VARIABLE, None)
    if folder is None:
        return None
    from wengert.cli._lanes import RankLanes

    lanes = RankLanes(folder)
    lanes.start()
    return lanes


def _left(outcome: BaseException | None) -> int:
    """Leave as the script left."""
    if outcome is None:
        return 0
    if isinstance(outcome, KeyboardInterrupt):
        # The traceback is printed. Let the interpreter see the interrupt: it runs what is
        # to run at exit, then ends the process by SIGINT, as the shell expects.
        sys.excepthook = lambda *_: None
    raise outcome


def _live(
    path: str, watch: Watch, run_so_far: Callable[[Ending, Observations | None, float], Run]
) -> Callable[[], None]:
    """What writes the page while the script runs."""
    from wengert.cli._live_page import LivePage

    def page() -> str:
        running = Ending("running", None)
        return _page(run_so_far(running, watch.so_far(), time.perf_counter()))

    return LivePage(path, page).update


def _folder(target: str, module: bool) -> str:
    path = os.path.realpath(os.curdir if module else target)
    return path if os.path.isdir(path) else os.path.dirname(path)


def _watch(recorder: Recorder) -> Watch:
    from wengert.cli._watch import Watch

    return Watch(recorder)


def _compiling() -> Compiling:
    from wengert.cli._compiling import Compiling

    compiling = Compiling()
    compiling.start()
    return compiling


def output_path(file: str | None) -> str | None:
    """Where to write, wherever the script goes; says at once if nothing can be written there."""
    if file is None:
        return None
    path = os.path.abspath(file)
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        _complain(f"{file!r} is a folder")
    elif not _make_folder(folder):
        _complain(f"there is no folder {folder!r}, and none can be made there")
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        _complain(f"no permission to write {path!r}")
    return path


def _make_folder(folder: str) -> bool:
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
    return os.path.isdir(folder)


def _complain(what: object) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"wengert run: cannot write the report: {what}", file=sys.stderr, flush=True)


def _outcome(
    start: Callable[[str], None], target: str, full_traceback: bool
) -> tuple[BaseException | None, Ending]:
    """What is to be raised, and how the script ended; tracebacks are printed here.

    No frame of the script is kept: what it holds is to go before the end is looked at.
    """
    try:
        start(target)
    except SystemExit as exit:
        return exit.with_traceback(None), exited(exit)
    except BaseException as error:
        _print_traceback(error, full_traceback)
        ending = failed(error)
        if isinstance(error, KeyboardInterrupt):
            return error.with_traceback(None), ending
        return SystemExit(1), ending
    return None, Ending("finished", 0)


def _is_zipfile(path: str) -> bool:
    import zipfile

    return zipfile.is_zipfile(path)


def _run_script(script: str) -> None:
    path = os.path.join(os.getcwd(), script)  # not normalised: so is __file__
    if os.path.isdir(path) or (not path.endswith(".py") and _is_zipfile(path)):
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
    if b"__torch_function__" in source:  # of a class that may be no Tensor
        arm_for_classes()
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


def _print_traceback(error: BaseException, full: bool) -> None:
    """As the interpreter prints it, from the script's first frame on.

    Where it is not to be full, frames inside wengert are left out.
    """
    trace = error.__traceback__
    while trace is not None and _own_frame(trace.tb_frame.f_code):
        trace = trace.tb_next
    error.__traceback__ = trace
    if not full and shorten(error):
        error.add_note("(frames inside wengert are left out: wengert run --full-traceback)")
    _flush()
    sys.excepthook(type(error), error, error.__traceback__)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _deliver(run: Run, quiet: bool, page: str | None, data: str | None) -> None:
    """Print and write what was seen; a report that cannot be delivered does no harm."""
    if data is not None:
        write_report(data, lambda: _json(run))
    written = page is not None and write_report(page, lambda: _page(run))
    if not quiet:
        _flush()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            paint = Palette(sys.stderr)
            text = format_report(run.report, run.script, run.seconds, paint, _programs())
            sys.stderr.write(text)
            if written:
                sys.stderr.write(paint("  report       ", "cyan") + f" {page}\n")
            sys.stderr.flush()


def _programs() -> list[str]:
    """What the script's compiled functions have become; it need not have any."""
    if "wengert.replay.compiled" not in sys.modules:
        return []
    from wengert.cli._compiling import program_lines

    return program_lines()


def _deliver_summary(compiling: Compiling, quiet: bool, script: str, seconds: float) -> None:
    if not quiet:
        _flush()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(compiling.summary(os.path.basename(script), seconds))
            sys.stderr.flush()


def _json(run: Run) -> str:
    import json

    return json.dumps(run.to_dict(), indent=2) + "\n"


def _page(run: Run) -> str:
    from wengert.cli._page import run_page

    return run_page(run)


def write_report(path: str, text: Callable[[], str]) -> bool:
    try:
        content = text()
        with open(path, "w", encoding="utf-8", errors="replace") as out:
            out.write(content)
    except Exception as error:
        _complain(f"{type(error).__name__}: {error}")
        return False
    return True
