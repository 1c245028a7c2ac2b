"""Two runs, from the data of `--report-json`: what grew, what shrank, what is new or gone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from wengert.graph.formatting import format_bytes, format_flops

Data = Mapping[str, Any]
By = Mapping["Key", "Amount"]


class Key(NamedTuple):
    """What is compared with its like: a module by its path, a line by its file and its text.

    Lines of one text are told apart by their order: numbers change where lines are put in.
    """

    file: str
    text: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of something there is in one run, and where: ``file:line``, or a module."""

    where: str
    value: float


@dataclass(frozen=True, slots=True)
class Change:
    """One line, module or figure before and after; None where it was not there.

    Attributes:
        where: ``file:line`` or the module, as it is afterwards.
        text: the text of the line.
    """

    where: str
    text: str
    before: float | None
    after: float | None

    @property
    def by(self) -> float:
        """How much more there is."""
        return (self.after or 0) - (self.before or 0)


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that lines and modules have much or little of.

    Attributes:
        name: what it is called: ``"time"``.
        lines, modules: of each line and each module that has some, before and after.
        least: changes of less than this are not told from chance, nor those of less than a tenth.
    """

    name: str
    lines: tuple[Change, ...]
    modules: tuple[Change, ...]
    least: float = 0.0

    def moved(self, changes: tuple[Change, ...]) -> list[Change]:
        """The changes that are worth to be told, the largest first."""
        changed = [change for change in changes if self.is_change(change)]
        return sorted(changed, key=lambda change: abs(change.by), reverse=True)

    def is_change(self, change: Change) -> bool:
        """Whether a change is more than chance."""
        larger = max(change.before or 0, change.after or 0)
        return abs(change.by) > max(self.least, 0.1 * larger if self.least else 0)


@dataclass(frozen=True, slots=True)
class ComparedFinding:
    """A finding of one run: its kind, line, text and sentence."""

    kind: str
    where: str
    line: str
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs beside each other.

    Attributes:
        before, after: what the runs were called.
        figures: seconds, backward calls and so on.
        measures: time, bytes and floating-point operations by line and module.
        new: findings that only the later run has.
        gone: those that only the earlier one had.
    """

    before: str
    after: str
    figures: tuple[Change, ...]
    measures: tuple[Measure, ...]
    new: tuple[ComparedFinding, ...]
    gone: tuple[ComparedFinding, ...]


def load_run(path: str) -> Data:
    """The data of a run. Raises OSError, and ValueError for what is no such data."""
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is no JSON: {error}") from None
    needed = {"folder", "memory", "findings", "captures", "hotness", "began"}
    missing = needed - data.keys() if isinstance(data, dict) else needed
    if missing:
        raise ValueError(
            f"{path} is not what this version's `wengert run --report-json` writes:"
            f" {', '.join(sorted(missing))} {'is' if len(missing) == 1 else 'are'} missing"
        )
    return dict(data)


def compared(before: Data, after: Data) -> Comparison:
    """What has changed from one run to another."""
    later = {key: finding for key, finding in _findings(after)}
    earlier = {key: finding for key, finding in _findings(before)}
    return Comparison(
        before=_title(before),
        after=_title(after),
        figures=tuple(_figures(before, after)),
        measures=(
            _measure("time", before, after, _time_of_lines, _time_of_modules, 0.05),
            _measure("bytes", before, after, *_of_graphs(lambda node: node["nbytes"])),
            _measure("FLOP", before, after, *_of_graphs(lambda node: sum(node["flops"] or ()))),
        ),
        new=tuple(finding for key, finding in later.items() if key not in earlier),
        gone=tuple(finding for key, finding in earlier.items() if key not in later),
    )


def _title(data: Data) -> str:
    return f"{data['script']}, {data['began']}"


def _figures(before: Data, after: Data) -> Iterator[Change]:
    readings: dict[str, Callable[[Data], float]] = {
        "seconds": lambda data: data["seconds"],
        "backward calls": lambda data: data["backward_calls"],
        "operations": lambda data: data["nodes"],
        "peak bytes of graphs": lambda data: data["memory"]["peak"],
        "bytes after the last backward": lambda data: data["memory"]["after"],
        "findings": lambda data: len(data["findings"]),
    }
    for name, read in readings.items():
        yield Change(name, "", read(before), read(after))


def _measure(
    name: str,
    before: Data,
    after: Data,
    lines: Callable[[Data], By],
    modules: Callable[[Data], By],
    least: float = 0.0,
) -> Measure:
    return Measure(
        name,
        lines=_changes(lines(before), lines(after)),
        modules=_changes(modules(before), modules(after)),
        least=least,
    )


def _changes(before: By, after: By) -> tuple[Change, ...]:
    changes = []
    for key in {**after, **before}:
        old, new = before.get(key), after.get(key)
        where = new.where if new is not None else before[key].where
        values = [None if one is None else one.value for one in (old, new)]
        changes.append(Change(where, key.text if key.file else "", *values))
    return tuple(changes)


def _time_of_lines(data: Data) -> By:
    amounts = [
        (hot["where"], hot["text"], sum(hot["seconds"].values())) for hot in _hot(data, "lines")
    ]
    return _lines(data, amounts)


def _time_of_modules(data: Data) -> By:
    hot = _hot(data, "modules")
    return {Key("", m["name"]): Amount(m["name"], m["forward"] + m["backward"]) for m in hot}


def _hot(data: Data, what: str) -> list[dict[str, Any]]:
    return list(data["hotness"][what])


def _of_graphs(read: Callable[[Data], float]) -> tuple[Callable[[Data], By], Callable[[Data], By]]:
    """The sums over the nodes of lines and of modules: the most in any of a run's graphs."""

    def lines(data: Data) -> By:
        most: dict[tuple[str, str], float] = {}
        for key, value in _most(data, lambda node: (node["where"], node["text"]), read):
            most[key] = max(most.get(key, 0), value)
        return _lines(data, [(*location, value) for location, value in most.items() if value])

    def modules(data: Data) -> By:
        most: dict[str, float] = {}
        for key, value in _most(data, lambda node: node["module"] or "(no module)", read):
            most[key] = max(most.get(key, 0), value)
        return {Key("", name): Amount(name, value) for name, value in most.items() if value}

    return lines, modules


def _most(
    data: Data, group: Callable[[Data], Any], read: Callable[[Data], float]
) -> Iterator[tuple[Any, float]]:
    for capture in data["captures"]:
        sums: dict[Any, float] = {}
        for node in (capture["graph"] or {"nodes": ()})["nodes"]:
            if node["state"] != "leaf":
                sums[group(node)] = sums.get(group(node), 0) + read(node)
        yield from sums.items()


def _lines(data: Data, amounts: list[tuple[str, str, float]]) -> By:
    """Amounts of lines; those of one text in the order of their numbers."""
    by_key: dict[Key, Amount] = {}
    for where, text, value in sorted(amounts, key=lambda one: _number(one[0])):
        where = _inside(data, where)
        file, turn = where.rpartition(":")[0], 0
        while (key := Key(file, text or where, turn)) in by_key:
            turn += 1
        by_key[key] = Amount(where, value)
    return by_key


def _number(where: str) -> int:
    line = where.rpartition(":")[2]
    return int(line) if line.isdigit() else 0


def _inside(data: Data, where: str) -> str:
    """``file:line``, relative to the folder of the script."""
    return os.path.normpath(where).removeprefix(os.path.join(data["folder"], ""))


def _findings(data: Data) -> Iterator[tuple[tuple[str, str, str], ComparedFinding]]:
    for finding in data["findings"]:
        where = _inside(data, finding["where"])
        line = finding["line"]
        key = finding["kind"], where.rpartition(":")[0], line or where
        yield key, ComparedFinding(finding["kind"], where, line, finding["text"])


def difference(change: Change, to_text: Callable[[float], str]) -> str:
    """How much more or less there is, and in per cent."""
    if change.before is None:
        return "new"
    if change.after is None:
        return "gone"
    if not change.by:
        return ""
    sign = "-" if change.by < 0 else "+"
    ratio = f" ({change.by / change.before:+.0%})" if change.before else ""
    return f"{sign}{to_text(abs(change.by))}{ratio}"


def amount_of(name: str) -> Callable[[float], str]:
    """How the amounts of a measure, or a figure, are written."""
    if name in ("time", "seconds"):
        return lambda value: f"{value:.3f} s"
    if "bytes" in name:
        return format_bytes
    return format_flops if name == "FLOP" else lambda value: f"{value:,}"
