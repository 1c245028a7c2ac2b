"""Compiled training steps of a program that does not say where its steps are.

A region goes from the outermost call of a module that trains to the end of an optimizer's step.
What happens in between is a run, as that of a compiled function; all regions that begin at one
line have one record.
"""

from __future__ import annotations

import threading
from threading import get_ident
from time import perf_counter
from types import CodeType

from wengert.replay.arming import arm
from wengert.replay.compiled import Compiled
from wengert.replay.run import Run, end_run
from wengert.replay.stance import Stance
from wengert.replay.state import active, enter, inside

# Calls of modules after which a region ends: a loop without steps is not to be one.
MOST_CALLS = 64


def _unnamed() -> None:
    """What stands for the code of a region."""


class Region(Compiled):
    """All regions that begin at one line.

    Attributes:
        line: the code, and the instruction in it.
        began: when the last one began.
    """

    began = 0.0

    def __init__(self, line: tuple[CodeType, int]) -> None:
        super().__init__(_unnamed)
        self.line = line

    def begin(self) -> bool:
        """Begin a run; False where the operations run as they are."""
        start = perf_counter()
        if active.inside or active.busy or Stance.eager or self.record.retired:
            return False
        if self._is_on_trial(start) or self.is_made():
            return False
        arm()
        self.trial.calls += 1
        self.began = start
        active.set_run(Run(self.record))
        active.inside, active.whole = 1, False
        enter()
        return True

    def end(self) -> None:
        """The run has ended: from here on its values hold it."""
        active.inside = 0
        end_run()
        inside.discard(get_ident())
        self._count(perf_counter() - self.began)


class Regions(threading.local):
    """The regions of a thread.

    Attributes:
        by_line: the regions by where they begin.
        open: the one that has begun; `running` is whether it is a run.
        calls: the outermost calls of modules in it.
        steps: how many regions have ended with an optimizer's step.
    """

    def __init__(self) -> None:
        self.by_line: dict[tuple[CodeType, int], Region] = {}
        self.open: Region | None = None
        self.running = False
        self.calls = self.steps = 0

    def called(self, line: tuple[CodeType, int]) -> None:
        """A module that trains is called, by no other module."""
        if self.open is not None:
            self.calls += 1
            if self.calls <= MOST_CALLS:
                return
            self.close()
        region = self.by_line.get(line)
        if region is None:
            region = self.by_line[line] = Region(line)
        self.open, self.calls = region, 1
        self.running = region.begin()

    def stepped(self) -> None:
        """An optimizer's step has ended."""
        if self.open is not None:
            self.steps += 1
            self.close()

    def close(self) -> None:
        """The region that is open ends here."""
        region, self.open = self.open, None
        if self.running and region is not None:
            self.running = False
            region.end()
