"""What a compiled function has become: its programs, and where they are split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wengert.core.dtypes import of_numpy
from wengert.core.storage import location_of, source_text
from wengert.replay.compiled import Compiled, compiled, compiled_of
from wengert.replay.run import current_run
from wengert.replay.skipping import Skipping
from wengert.replay.trace import BackwardEntry, Entry, Input, OpEntry

_MOST_CALLS = 8
_LATER = "read it after the function, or not at all"
_SIZED = (
    "how large the result is depends on values: torch.where(mask, a, b) and sums of a * mask have"
    " the size of the mask"
)
# What to do about a split, by a function that reads.
_INSTEAD = {
    **dict.fromkeys(("getitem", "masked_select", "nonzero", "argwhere", "unique", "where"), _SIZED),
    "_bool": f"{_LATER}: torch.where(condition, a, b) chooses without looking",
    "unscale_": "whether there is to be a step depends on it",
}


@dataclass
class Explanation:
    """A compiled function, explained.

    Attributes:
        operations: the operations in its programs, those of backwards not counted.
        backwards: the backwards in its programs.
        calls: the calls of native code and NumPy that its programs make.
        loops: for each fused loop, the operations in it.
        splits: the lines that read a value, which ends a program, and `instead` what to do
            about each.
        ahead: the lines that read a value before a backward, which programs of their own compute.
        ways: how many ways through the function are on record, and `branches` where one has left
            those before it, and by what.
        bytes: the most bytes of intermediate values and of what kernels write between, and those
            of values as eager mode would hold them.
        seconds: of the first call, and of the fastest later one.
        trial: of the fastest call as it is, and of the fastest as a run, up to the next call; None
            where none were compared.
        retired: why the function runs as it is by now, empty if it does not.
        python: of ``mode="reduce-overhead"``, whether Python is skipped, or why not.
        programs: the programs themselves.
    """

    operations: int = 0
    backwards: int = 0
    calls: int = 0
    loops: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    instead: list[str] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)
    ways: int = 0
    branches: list[str] = field(default_factory=list)
    bytes: tuple[int, int] = (0, 0)
    seconds: list[float] = field(default_factory=list)
    trial: tuple[float, float] | None = None
    retired: str = ""
    python: str = ""
    programs: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.operations} operations and {self.backwards} backwards in"
            f" {len(self.programs)} programs, {self.calls} calls",
            f"{len(self.loops)} fused loops" + "".join(f"\n  {loop}" for loop in self.loops),
            f"{self.ways} ways on record" + "".join(f"\n  {way}" for way in self.branches),
            f"intermediate values: {self.bytes[0] / 1e6:.3g} MB, {self.bytes[1] / 1e6:.3g} MB as"
            " eager mode would hold them",
        ]
        if len(self.seconds) > 1:
            first, best = self.seconds
            lines.append(f"first call {first * 1e3:.3g} ms, fastest later {best * 1e3:.3g} ms")
        lines += self.compared()
        if self.retired:
            lines.append(f"retired: {self.retired}")
        if self.python:
            lines.append(self.python)
        lines += [f"read before a backward: {line}; no split" for line in self.ahead]
        lines += [
            f"split where a value is read: {line}; {instead}"
            for line, instead in zip(self.splits, self.instead, strict=True)
        ]
        return "\n".join(lines)

    def compared(self) -> list[str]:
        """How long a step takes as it is and compiled; nothing where that was not compared."""
        if self.trial is None:
            return []
        eager, run = self.trial
        return [f"a step takes {eager * 1e3:.3g} ms as it is, {run * 1e3:.3g} ms compiled"]


def explain_calls(function: Callable[..., Any], args: Any, kwargs: Any) -> Explanation:
    """Call a function three times, or until its programs last, and explain what it has become."""
    own = compiled_of(function)
    if own is None:
        function = compiled(function)
        own = compiled_of(function)
    assert own is not None
    own.wait()
    patient, own.patient = own.patient, True
    try:
        for k in range(_MOST_CALLS):
            if k > 2 and own.record.lasts():
                break
            result = function(*args, **kwargs)
            run = current_run()
            if run is not None:
                run.settle()
            del result
    finally:
        own.patient = patient
    return explanation_of(own)


def explanation_of(function: Compiled) -> Explanation:
    """What is to be said of a compiled function."""
    found = Explanation(seconds=list(function.seconds), trial=function.trial.fastest())
    if function.record.retired:
        slower = function.trial.is_slower()
        found.retired = "as fast without" if slower else "values are read too often"
    if isinstance(function, Skipping):
        found.python = function.told()
    sizes = [(0, 0)]
    plans_of: dict[Entry, list[Any]] = {}
    for (entry, *_), plan in function.record.plans.items():
        plans_of.setdefault(entry, []).append(plan)
    for entry in function.record.root.below():
        plans = plans_of.get(entry)
        found.ways += not entry.children and entry.depth > 0
        found.branches += _branches(entry)
        if not plans:
            continue
        plan, path = plans[0], entry.path()
        found.operations += sum(isinstance(e, OpEntry) for e in path)
        found.backwards += sum(isinstance(e, BackwardEntry) for e in path)
        plan.optimise()
        found.calls += len((plan.native or plan.program).instructions)
        found.loops += [i.name for i in plan.program.instructions if i.members]
        sizes.append((plan.bytes, plan.eager_bytes))
        found.programs.append(plan.program)
        goes_on = entry.children or entry.after is not None
        if goes_on and entry.read_at is not None:
            found.splits.append(_line(*entry.read_at))
            known = [_INSTEAD[name] for name in entry.read_by if name in _INSTEAD]
            found.instead.append(known[-1] if known else _LATER)
    for reading in function.record.readings.values():
        reading.optimise()
        found.calls += len((reading.native or reading.program).instructions)
        found.loops += [i.name for i in reading.program.instructions if i.members]
        found.programs.append(reading.program)
        found.ahead.append(_line(*reading.line))
    found.bytes = max(sizes)
    return found


def _branches(entry: Entry) -> Iterator[str]:
    """Why there is more than one way on from an entry: each but the first."""
    first, *others = entry.children or [None]
    for key in others:
        yield f"{entry.children[key].line()}: {_difference(key, first)}"


def _difference(key: Any, first: Any) -> str:
    """What tells a call from that of the first way, by their keys: see `Run._search`."""
    if any(type(one) is not tuple or len(one) < _BEFORE_ARGUMENTS for one in (key, first)):
        return "another step"
    if key[0] is not first[0]:
        names = [op.name.removeprefix("_") for op in (key[0], first[0])]
        return " where there was ".join(names)
    if key[2] != first[2]:
        return "another line"
    if key[1] != first[1]:
        return "gradients are recorded" if key[1] else "no gradients are recorded"
    pairs = zip(key[_BEFORE_ARGUMENTS:], first[_BEFORE_ARGUMENTS:], strict=False)
    for one, other in pairs:
        if one != other and type(one) is type(other) is Input:
            return f"{_told(one)} where there was {_told(other)}"
    return "other arguments"


# What the key of an operation begins with: it, whether it is recorded, its line, keywords.
_BEFORE_ARGUMENTS = 4


def _told(x: Input) -> str:
    text = f"{of_numpy[x.dtype].name}{[*x.shape]}"
    return f"{text} with strides {[*x.strides]}" if 0 in x.strides else text


def _line(code: Any, lasti: int) -> str:
    return f"{location_of(code, lasti)}  {source_text(code, lasti)}".rstrip()
