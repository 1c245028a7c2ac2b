"""What is compiled of a script: its own functions, or with ``--compile`` its training steps."""

from __future__ import annotations

import inspect
from types import CodeType
from typing import Any

from wengert.core.storage import location_of
from wengert.core.tensor import Site, caller, getframe, internal, mode
from wengert.graph.formatting import format_count, shorten_path
from wengert.nn import Module
from wengert.optim.optimizer import register_optimizer_step_post_hook
from wengert.replay.compiled import alive
from wengert.replay.explanation import Explanation, explanation_of
from wengert.replay.regions import Region, Regions


class Compiling:
    """Watches the calls of modules, and steps of optimizers, for where regions begin and end."""

    def __init__(self) -> None:
        self.regions = Regions()

    def start(self) -> None:
        """Watch from here on, for good: threads of the script may go on after it."""
        regions, call = self.regions, Module.__call__

        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            where = mode.where
            outermost = type(where) is Site and where.module is None
            if outermost and mode.site is not None and self.training:
                regions.called(caller(getframe(1)))
            return call(self, *args, **kwargs)

        Module.__call__ = watched  # type: ignore[method-assign]
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: regions.stepped())

    def summary(self, script: str, seconds: float) -> str:
        """What was compiled, a few lines for each line where regions begin."""
        self.regions.close()
        steps = format_count(self.regions.steps, "step")
        lines = [f"wengert: {script}, {seconds:.1f} s, {steps} compiled"]
        for region in self.regions.by_line.values():
            lines += _described(region)
        return "\n".join(lines) + "\n"


def program_lines() -> list[str]:
    """What the script's own compiled functions have become, a line for each."""
    found: list[str] = []
    for function in alive():
        name = _name_of(function.function)
        if name is not None:
            told, splits = _told(explanation_of(function))
            told += [f"split where a value is read: {line}" for line in splits[:1]]
            found.append(f"{name}: {'; '.join(told)}")
    return sorted(found)


def _name_of(function: Any) -> str | None:
    """Where a function or module is written, and its name; None for a function of the package."""
    of_module = isinstance(function, Module)
    own = type(function).forward if of_module else function
    code = getattr(inspect.unwrap(own), "__code__", None)
    if isinstance(code, CodeType) and code.co_filename not in internal:
        where = shorten_path(f"{code.co_filename}:{code.co_firstlineno}")
        return f"{where}  {code.co_qualname}"
    return type(function).__name__ if of_module else None


def _described(region: Region) -> list[str]:
    (programs, *retired), splits = _told(explanation_of(region))
    lines = [f"  {location_of(*region.line)}: {programs}", *[f"    {line}" for line in retired]]
    return lines + [f"    split where a value is read: {line}" for line in splits]


def _told(found: Explanation) -> tuple[list[str], list[str]]:
    """What there is to say of a function, and the lines that split it."""
    told = ["no program so far"]
    if found.programs:
        told = [
            f"{format_count(found.operations, 'operation')} and"
            f" {format_count(found.backwards, 'backward')} in"
            f" {format_count(len(found.programs), 'program')}, {format_count(found.calls, 'call')}"
        ]
    told += found.compared()
    if found.retired:
        told.append(f"runs as it is by now: {found.retired}")
    if found.python:
        told.append(found.python)
    return told, found.splits
