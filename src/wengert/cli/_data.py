"""A run as plain data."""

from __future__ import annotations

import dataclasses
import linecache
import platform
import traceback
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from wengert.graph import Report

if TYPE_CHECKING:
    from wengert.cli._watch import Observations


@dataclass(frozen=True, slots=True)
class Ending:
    """How a script ended.

    Attributes:
        kind: ``"finished"``, ``"exited"``, ``"failed"``, ``"interrupted"``, or ``"running"``
            before the end.
        status: the exit code; None where a signal is to end the process.
        text: of an exception its class, message and notes; what ``sys.exit`` was given to print.
        where: ``file:line`` of the script, or of what it imported, that raised it.
    """

    kind: str
    status: int | None
    text: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """All about a run.

    Attributes:
        script: the script, or the module, as the command line has it.
        arguments: what else the script was given.
        file: the script's file; nothing for a module.
        folder: the folder of the script; of a module the one that it was looked for in.
        began: the local time.
        seconds: how long it took.
        ending: how it ended.
        report: its backward calls.
        observations: where its time went and so on; None where only the summary was asked for.
    """

    script: str
    arguments: tuple[str, ...]
    file: str
    folder: str
    began: str
    seconds: float
    ending: Ending
    report: Report
    observations: Observations | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        data = {
            "script": self.script,
            "arguments": list(self.arguments),
            "folder": self.folder,
            "began": self.began,
            "seconds": round(self.seconds, 3),
            "ending": dataclasses.asdict(self.ending),
            "versions": package_versions(),
            **self.report.to_dict(),
        }
        for finding in data["findings"]:
            finding["line"] = text_at(finding["where"])
        return data if self.observations is None else data | self.observations.to_dict()


def text_at(where: str) -> str:
    """The text of a ``file:line``."""
    path, _, line = where.rpartition(":")
    return linecache.getline(path, int(line)).strip() if line.isdigit() else ""


@cache
def package_versions() -> dict[str, str]:
    """The versions that a report of an error should name."""
    import numpy

    import wengert
    from wengert.compat.torch_names import VERSION

    return {
        "wengert": wengert.__version__,
        "torch": VERSION,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
    }


def exited(exit: SystemExit) -> Ending:
    """The end by ``sys.exit``."""
    code = exit.code
    if code is None or isinstance(code, int):
        return Ending("exited" if code else "finished", code or 0)
    return Ending("exited", 1, str(code))


def failed(error: BaseException) -> Ending:
    """The end by an exception; an interrupt leaves the process by its signal."""
    from wengert.graph.hotness import is_users

    text = "".join(traceback.format_exception_only(error)).strip()
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    users = [frame for frame in frames if is_users(frame[0])]
    where = "{}:{}".format(*(users or frames)[-1]) if frames else ""
    if isinstance(error, SyntaxError) and error.filename and not users:
        where = f"{error.filename}:{error.lineno}"
    if isinstance(error, KeyboardInterrupt):
        return Ending("interrupted", None, text, where)
    return Ending("failed", 1, text, where)
