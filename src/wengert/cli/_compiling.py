"""``wengert run --compile``: the training steps of a script, compiled without a change to it."""

from __future__ import annotations

from typing import Any

from wengert.core.storage import location_of
from wengert.core.tensor import Site, caller, getframe, mode
from wengert.nn import Module
from wengert.optim.optimizer import register_optimizer_step_post_hook
from wengert.replay.explanation import explanation_of
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
        lines = [f"wengert: {script}, {seconds:.1f} s, {_count(self.regions.steps)} compiled"]
        for region in self.regions.by_line.values():
            lines += _described(region)
        return "\n".join(lines) + "\n"


def _count(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps:,} steps"


def _described(region: Region) -> list[str]:
    found = explanation_of(region)
    lines = [
        f"  {location_of(*region.line)}: {found.operations} operations and {found.backwards}"
        f" backwards in {len(found.programs)} programs, {found.calls} calls"
    ]
    if found.retired:
        lines.append(f"    runs as it is by now: {found.retired}")
    return lines + [f"    split where a value is read: {line}" for line in found.splits]
