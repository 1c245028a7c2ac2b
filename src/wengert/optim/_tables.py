"""What a group's steps update: noted at one step, and looked at natively at the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import is_
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.kernels.jit.formulas import Formula, Held, Slots, many
from wengert.kernels.jit.heads import Layouts
from wengert.kernels.jit.words import Words, knows_words, slot_of

# How many tables of a group are made.
_MOST = 64


class StepTable:
    """The parameters of a group and their states, as long as these are the same objects.

    Which arrays they have, and the gradients, may be others at every step.

    Attributes:
        params: the parameters, all of which step, or none does.
        counts: the tensors that count their steps.
    """

    def __init__(
        self, formula: Formula, options: dict[str, bool], names: Sequence[str | None],
        params: list[Tensor], state: Any, counts: bool,
    ) -> None:  # fmt: skip
        states = [state[p] for p in params] if counts or any(names) else []
        self.params, self.formula, self._state = [*params], formula, state
        self.counts = [s["step"] for s in states] if counts else []
        columns = [None if n is None else [s[n] for s in states] for n in names]
        of_states = [column for column in columns if column is not None]
        self._objects = [x for column in (params, params, *of_states) for x in column]
        arrays = [p._array for p in params]
        self._written, self._run = formula.compiled([arrays, arrays, *columns], options)
        self._words = Words([state, *states], (), (), [], 0, Layouts([]))

    def holds(self, params: list[Tensor], state: Any) -> bool:
        """Whether these are the parameters, and the states have the same tensors."""
        same = len(params) == len(self.params) and all(map(is_, params, self.params))
        return same and state is self._state and self._words.same()

    def lists(self) -> Held | None:
        """Where the arrays lie now; None if one is missing, not plain, or overlaps another."""
        found = Held(self._objects, len(self.params), _slots(), self._written)
        return found if found.fit() else None

    def update(self, lists: Held, numbers: dict[str, float]) -> None:
        """Let the kernel update them. The caller keeps the arrays of parameters and gradients."""
        # Other threads may run meanwhile, and take states other arrays.
        states = [x._array for x in self._objects[2 * len(self.params) :]]
        self.formula.run(lists, self._run, [numbers])
        del states


class Noted:
    """The table of a group, if its last step has made one.

    Attributes:
        count: how many were made: where others change the states at every step, none is worth it.
    """

    def __init__(self) -> None:
        self.table: StepTable | None = None
        self.count = 0

    def holds(self, params: list[Tensor], state: Any) -> bool:
        """Whether there is a table, of these parameters and their present states."""
        return self.table is not None and self.table.holds(params, state)

    def note(
        self, formula: Formula, options: dict[str, bool], names: Sequence[str | None],
        params: list[Tensor], state: Any, counts: bool,
    ) -> None:  # fmt: skip
        """Make a table of a group that has just stepped."""
        if self.count < _MOST:
            self.count += 1
            self.table = table_of(formula, options, names, params, state, counts)


def table_of(
    formula: Formula, options: dict[str, bool], names: Sequence[str | None],
    params: list[Tensor], state: Any, counts: bool,
) -> StepTable | None:  # fmt: skip
    """What is to be noted of a group; None if that is not worth it, or not known."""
    known = knows_words() and _slots()[:2].all()
    if not known or not params or not many([p._array for p in params]):
        return None
    try:
        return StepTable(formula, options, names, params, state, counts)
    except (KeyError, AttributeError):  # some have not stepped before
        return None


@cache
def _slots() -> np.ndarray:
    return Slots(slot_of(Tensor, "_array"), slot_of(Tensor, "_grad"), Tensor).words()
