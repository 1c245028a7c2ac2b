"""Compiled functions: each call is a run along the function's record."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from threading import get_ident
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

from wengert.core.storage import quoted_location
from wengert.core.tensor import Tensor, internal
from wengert.graph.roots import describers
from wengert.replay import noting as _noting  # noqa: F401 (what runs note)
from wengert.replay import trial
from wengert.replay.arming import arm
from wengert.replay.background import background
from wengert.replay.ir import Program
from wengert.replay.record import Record
from wengert.replay.run import Run, current_run, end_run
from wengert.replay.sparing import Sparing
from wengert.replay.stance import Stance, as_compiling
from wengert.replay.state import active, enter, inside

if TYPE_CHECKING:
    from wengert.graph.description import GraphReport

_compiled: weakref.WeakSet[Compiled] = weakref.WeakSet()

# Calls after which a record that grows at every call is given up.
_EARLY = (8, trial.AS_IT_IS.start)

# Seconds between looks at what is being made.
_WAIT = 1e-3


class Compiled:
    """A function whose calls are runs along its record.

    Attributes:
        function: as it was given.
        fullgraph: whether it is an error that Python decides by a value in it.
        exact: whether values are rounded as in eager mode.
        record: what is on record of it.
        trial: whether its calls are faster as runs. Calls that went on with the values of another
            function are no part of it.
        continues: whether there were such calls; then calls tell nothing about time.
        patient: whether calls are runs while programs are made, too.
        seconds: how long the first call took, and the shortest of the others.
        sparing: says which calls are no runs where their ways do not repeat.
    """

    mode: str | None = None  # by which `compile` makes such functions

    def __init__(
        self, function: Callable[..., Any], fullgraph: bool = False, exact: bool = False
    ) -> None:  # fmt: skip
        self.function, self.fullgraph, self.exact = function, fullgraph, exact
        self.patient = fullgraph or self.mode is not None  # to skip Python gains more
        self.forget()
        _compiled.add(self)

    def forget(self) -> None:
        """Begin anew."""
        self.record = Record(self.exact)
        self.trial = trial.Trial()
        self.seconds: list[float] = []
        self.continues, self.sparing = False, Sparing()

    @as_compiling
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Part of a run, or of none.
        if active.inside or active.busy or Stance.eager or self.record.retired:
            return self.function(*args, **kwargs)
        start, run = perf_counter(), current_run()
        if run is not None and (_has_value(run, args) or _has_value(run, kwargs.values())):
            self.continues = True
            if self._is_spared():
                return self.function(*args, **kwargs)
        else:
            if run is not None:
                run.put_off(self.patient)
            if self._is_on_trial(start, args) or self.is_made() or self._is_spared():
                return self.function(*args, **kwargs)
            record, run = self.record, None
            if not self.trial.waits() or record not in background.making or not record.pays():
                self.trial.calls += 1  # the trial waits for the programs
        try:
            if run is None:
                return self._begun(args, kwargs)
            return self._along(run, self.function, args, kwargs)
        finally:
            self._count(perf_counter() - start)

    def _begun(self, args: Any, kwargs: Any) -> Any:
        """What a call gives that begins a run."""
        arm()
        run = Run(self.record)
        run.may_note = not self.patient
        return self._along(run, self.function, args, kwargs)

    def _along(self, run: Run, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a function gives whose operations are a run's."""
        active.set_run(run)
        run.left = False
        active.inside, active.whole = 1, self.fullgraph
        enter()
        try:
            return function(*args, **kwargs)
        finally:
            active.inside, active.whole = 0, False
            active.sharing.clear()
            end_run()
            inside.discard(get_ident())

    def _count(self, seconds: float) -> None:
        if len(self.seconds) < 2:
            self.seconds.append(seconds)
        elif seconds < self.seconds[1]:
            self.seconds[1] = seconds
        calls = self.trial.calls
        due = calls == trial.AS_RUNS.stop or (calls and not calls % 256)
        if due or (calls in _EARLY and self.record.grows()):
            self._review()

    def _is_on_trial(self, start: float, args: Iterable[Any] = ()) -> bool:
        """Whether a call that starts is one to be timed as it is."""
        if self.continues or not self.trial.begins(start, self.function, args):
            return False
        self.trial.calls += 1
        _leave()
        return True

    def _is_spared(self) -> bool:
        """Whether a call is to run as it is, because it would take a way of its own."""
        if self.patient or not self.sparing.spares(self.record):
            return False
        self.trial.pause()
        _leave()
        return True

    def is_made(self) -> bool:
        """Whether a call is to run as it is, because its programs are still being made.

        Before they are compiled they take longer. What goes on with values of another function is
        part of that one's program: it begins none of its own while that is made.
        """
        making, record = background.making, self.record
        if not making or self.patient:
            return False
        if record not in making and (record.compiled or not self.continues):
            return False
        record.meanwhile += 1
        self.trial.pause()
        _leave()
        return True

    def _review(self) -> None:
        """Retire the record if runs do not pay; a warning says why."""
        record = self.record
        slower = self.trial.is_slower()
        if record.size and record.pays() and not slower:
            return
        record.retire()
        _leave()  # nobody is to go on with its last run
        if slower and record.pays():
            return  # `explain` says so
        code = getattr(self.function, "__code__", None)
        if code is None or code.co_filename in internal:
            return  # an optimizer's step, say, which is a program of its own
        why = "no operation in it can be computed later than it is called"
        if record.reads:
            line, count = record.reads.most()
            why = f"values are read too often, {count} times at {quoted_location(*line)}"
        elif record.settled or record.grows():
            why = "it takes another way too often"
        message = f"torch.compile: {self.function.__qualname__}() runs as it is from here on: {why}"
        warnings.warn_explicit(message, UserWarning, code.co_filename, code.co_firstlineno)

    def wait(self) -> None:
        """Wait until what its calls have noted is on record."""
        record = self.record
        while record.awaited and record in background.making:
            sleep(_WAIT)

    def programs(self) -> list[Program]:
        """The programs on record, as the passes have rewritten them."""
        self.wait()
        plans = self.record.programs() or [*self.record.foreseen.values()]
        for plan in plans:
            plan.optimise()
        return [plan.program for plan in plans]

    def graph(self) -> str:
        """The programs on record, as text: each line with those of the user's that it is from."""
        return "\n\n".join(map(str, self.programs()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return type(self)(deepcopy(self.function, memo), self.fullgraph, self.exact)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.fullgraph, self.exact)


def compiled(
    function: Callable[..., Any], fullgraph: bool = False, exact: bool = False,
    kind: type[Compiled] = Compiled,
) -> Any:  # fmt: skip
    """A function that runs `function` as `Compiled` does; its record is its attribute `record`."""
    compiled_function = kind(function, fullgraph, exact)
    if not hasattr(function, "__code__"):
        return compiled_function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled_function(*args, **kwargs)

    call._torchdynamo_orig_callable = function  # type: ignore[attr-defined]  # packages look for it
    call.compiled, call.graph = compiled_function, compiled_function.graph  # type: ignore[attr-defined]
    return call


def compiled_of(function: Any) -> Compiled | None:
    """What `compiled` made, of what it gave, or of a module that is compiled."""
    own = vars(function) if hasattr(function, "__dict__") else {}
    for one in (function, own.get("compiled"), own.get("_call"), own.get("forward")):
        if isinstance(one, Compiled):
            return one
        inner = getattr(one, "compiled", None) if one is not None and one is not function else None
        if isinstance(inner, Compiled):
            return inner
    return None


def _described(roots: Sequence[Any]) -> GraphReport | None:
    functions = [compiled_of(root) for root in roots]
    if not all(functions):
        return None
    from wengert.replay.described import described

    return described([one.programs() for one in functions if one is not None])


describers.append(_described)


def _leave() -> None:
    """Let what follows on this thread be part of no run."""
    active.set_run(None)
    active.behind = None


def alive() -> list[Compiled]:
    """All compiled functions of the process."""
    return list(_compiled)


def forget() -> None:
    """Let all compiled functions begin anew."""
    _leave()
    for one in alive():
        one.forget()


def _has_value(run: Run, arguments: Iterable[Any]) -> bool:
    """Whether a value of a run is among some arguments, or inside of one."""
    for x in arguments:
        if isinstance(x, Tensor):
            if run.is_value(x):
                return True
        elif isinstance(x, tuple | list):
            if _has_value(run, x):
                return True
        elif isinstance(x, dict) and _has_value(run, x.values()):
            return True
    return False
