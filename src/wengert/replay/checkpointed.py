"""What checkpoints ask of the compiled function that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from wengert.autograd.saved.packing import observers
from wengert.autograd.saved.programs import Programs
from wengert.core.tensor import mode
from wengert.replay.checkpoints import Checkpoint, inside
from wengert.replay.run import Run, current_run
from wengert.replay.state import active, asking, unusual


class InRuns(Programs):
    """Their calls are parts of runs."""

    def begin(self) -> Checkpoint | None:
        """The part of a run that a call becomes; None if it is part of none."""
        if not asking or active.busy or not active.inside or unusual() or mode.site is None:
            return None
        run = current_run()
        if run is None or run.settled or run.record.fixed or run.saver is not None:
            return None
        return None if observers else Checkpoint(run)

    def again(self, frame: Any, run: Any, args: Sequence[Any]) -> Checkpoint | None:
        """The part of a run that records which the same function becomes when it runs again."""
        now = _run()
        if now is None or not now.recording or now.settled or not now.expected:
            return None
        number, most = now.expected.pop(0)
        checkpoint = now.checkpoints[number]
        if checkpoint.frame() is not frame or most != run.most:
            now.expected = None
            return None
        checkpoint.begin_again(now, frame, run, args)
        return checkpoint

    def inside(self, run: Any) -> AbstractContextManager[Any]:
        """A context around a function that runs again."""
        now = _run()
        return inside(now, run) if now is not None and now.running is run else nullcontext()

    def catch_up(self, saver: Any) -> None:
        """An operation of a function is computed when it is called: so is what was deferred."""
        run = _run()
        if run is not None and run.saver is saver and not run.recording:
            run.settle()


def _run() -> Run | None:
    """The run of this thread, settled or not."""
    run = active.run
    return active.behind() if run is None and active.behind is not None else run
