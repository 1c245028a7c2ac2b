"""Whether the calls of a function take less time as runs: some are timed as they are, then as runs.

Calls are compared with others of their kind only. In training, the time up to the next call
includes the backward and the optimizer's step, in evaluation neither: compared with each other,
the two would tell which came first, not which way is faster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.tensor import Tensor, mode

# Calls that are timed as they are, then as runs, and after which runs have to pay.
AS_IT_IS, AS_RUNS = range(16, 22), range(22, 32)


class Trial:
    """The times of a function's calls, from the start of one to that of the next.

    Attributes:
        calls: how often it was called, but for calls that tell nothing about time.
        periods: the times of calls as they are and as runs, by the kind of call.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.periods: dict[Any, tuple[list[float], list[float]]] = {}
        self._started, self._kind = 0.0, None

    def begins(self, start: float, function: Any, args: Iterable[Any]) -> bool:
        """Note when a call starts; whether it is one to be timed as it is."""
        before = self.calls - 1
        if before >= AS_RUNS.stop:
            return False
        if self._started and (before in AS_IT_IS or before in AS_RUNS):
            periods = self.periods.setdefault(self._kind, ([], []))
            periods[before in AS_RUNS].append(start - self._started)
        self._started = start
        if self.calls in AS_IT_IS or self.calls in AS_RUNS:
            self._kind = _kind_of(function, args)
        return self.calls in AS_IT_IS

    def pause(self) -> None:
        """The time up to the next call is not that of the last one."""
        self._started = 0.0

    def waits(self) -> bool:
        """Whether the next call is to be the first that is timed."""
        return self.calls == AS_IT_IS.start - 1

    def fastest(self) -> tuple[float, float] | None:
        """The shortest times as they are and as runs, as others work on the machine, too.

        Of several kinds of calls the sums; None where no kind was timed both ways.
        """
        both = [periods for periods in self.periods.values() if all(periods)]
        if not both:
            return None
        return sum(min(plain) for plain, _ in both), sum(min(runs) for _, runs in both)

    def is_slower(self) -> bool:
        """Whether runs took longer."""
        found = self.fastest()
        return found is not None and found[1] > found[0]


def _kind_of(function: Any, args: Iterable[Any]) -> Any:
    """What calls have in common that take about as long: the modes, and what they are given."""
    own = getattr(function, "__self__", function)
    return mode.site is None, _training(own), *map(_likeness, args)


def _likeness(x: Any) -> Any:
    if isinstance(x, Tensor) and not x.is_nested:
        return x.shape
    return x if isinstance(x, bool | str) else (type(x), _training(x))


def _training(x: Any) -> bool | None:
    """Whether a module is in training mode; None for what else has, or computes, such a name."""
    flag = getattr(x, "__dict__", {}).get("training")
    return flag if isinstance(flag, bool) else None
