"""Compiled functions: each call is a run along the function's record."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator
from copy import deepcopy
from time import perf_counter
from typing import Any

from wengert.compiler import Stance
from wengert.core.tensor import Tensor
from wengert.replay.arming import arm
from wengert.replay.run import Run, active, current_run, end_run
from wengert.replay.trace import Entry

_compiled: weakref.WeakSet[Compiled] = weakref.WeakSet()

# Calls that may record nothing before a warning says so.
_PATIENCE = 2


class Compiled:
    """A function whose calls are runs along its record.

    Attributes:
        function: as it was given.
        root: the beginning of its record.
        calls: how often it was called.
        seconds: how long the first call took, and the shortest of the others.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False) -> None:
        self.function, self.fullgraph = function, fullgraph
        self.forget()
        _compiled.add(self)

    def forget(self) -> None:
        """Begin anew."""
        self.root = Entry(None, None)
        self.calls = 0
        self.seconds: list[float] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active.inside or active.busy or Stance.eager:  # part of a run, or of none
            return self.function(*args, **kwargs)
        arm()
        run = current_run()
        if run is None or not any(run.place_of(x) is not None for x in _tensors((args, kwargs))):
            run = Run(self.root)
        active.run = run
        active.inside, active.whole = 1, self.fullgraph
        start = perf_counter()
        try:
            return self.function(*args, **kwargs)
        finally:
            active.inside, active.whole = 0, False
            end_run()
            self._count(perf_counter() - start)

    def _count(self, seconds: float) -> None:
        self.calls += 1
        if len(self.seconds) < 2:
            self.seconds.append(seconds)
        elif seconds < self.seconds[1]:
            self.seconds[1] = seconds
        if self.calls == _PATIENCE and not self.root.children and self.root.after is None:
            self._tell_eager()

    def _tell_eager(self) -> None:
        code = getattr(self.function, "__code__", None)
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        warnings.warn_explicit(
            f"torch.compile: no operation of {name}() can be computed later than it is called:"
            " it runs as it is",
            UserWarning,
            "<unknown>" if code is None else code.co_filename,
            1 if code is None else code.co_firstlineno,
        )

    def graph(self) -> str:
        """The programs on record, as text: each line with those of the user's that it is from."""
        plans = [p for entry in self.root.below() for p in entry.programs.values()]
        return "\n\n".join(str(plan.program) for plan in plans)

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return Compiled(deepcopy(self.function, memo), self.fullgraph)

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, (self.function, self.fullgraph)


def compiled(function: Callable[..., Any], fullgraph: bool = False) -> Any:
    """A function that runs `function` as `Compiled` does; its record is its attribute `record`."""
    record = Compiled(function, fullgraph)
    if not hasattr(function, "__code__"):
        return record

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return record(*args, **kwargs)

    call.record, call.graph = record, record.graph  # type: ignore[attr-defined]
    return call


def record_of(function: Any) -> Compiled | None:
    """The record of what `compiled` gave, or of a module that is compiled."""
    own = vars(function) if hasattr(function, "__dict__") else {}
    for one in (function, own.get("record"), own.get("_call"), own.get("forward")):
        if isinstance(one, Compiled):
            return one
        inner = getattr(one, "record", None) if one is not None and one is not function else None
        if isinstance(inner, Compiled):
            return inner
    return None


def forget() -> None:
    """Let all compiled functions begin anew."""
    active.run, active.behind = None, None
    for one in list(_compiled):
        one.forget()


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
