"""Runs of a sequence that repeat: the steps of a loop, the layers of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_PERIOD = 400  # the longest body of a loop that is looked for, in items
_CELLS = 20_000_000  # and less in a sequence so long that the table would become large


@dataclass(frozen=True, slots=True)
class RepeatedRun:
    """Items from `start` on: `count` times the same `period` ones."""

    start: int
    period: int
    count: int

    @property
    def stop(self) -> int:
        """Where the run ends."""
        return self.start + self.period * self.count


def runs(signs: Sequence[int], weights: Sequence[int], lines: Sequence[int]) -> list[RepeatedRun]:
    """The repeating runs of a sequence, from left to right, none inside of another.

    Args:
        signs: equal numbers for equal items.
        weights: how many operations an item stands for.
        lines: the line of code of an item: a run begins at the first line of its loop.
    """
    if len(signs) < 3:
        return []
    equal = _equal_stretches(signs)
    upto = np.concatenate([[0], np.cumsum(weights, dtype=np.int64)])
    repetitions: list[RepeatedRun] = []
    at = 0
    while at < len(signs):
        run = _longest(at, equal)
        if run is not None and _worth(run, upto):
            repetitions.append(_from_first_line(run, lines, equal))
            at = repetitions[-1].stop
        else:
            at += 1
    return repetitions


def _worth(run: RepeatedRun, upto: np.ndarray) -> bool:
    """Whether a run of three or more spares the reader enough boxes."""
    return run.count >= 3 and bool(upto[run.stop] - upto[run.start] >= 8)


def _equal_stretches(signs: Sequence[int]) -> np.ndarray:
    """Row p - 1, column i: how many items from i on equal the ones p places further."""
    values = np.asarray(signs, np.int64)
    count = len(values)
    periods = min(_PERIOD, count // 3, _CELLS // max(count, 1))
    stretches = np.zeros((periods, count + 1), np.int32)
    for p in range(1, periods + 1):
        differs = np.flatnonzero(values[:-p] != values[p:])
        nearest = np.append(differs, count - p)[np.searchsorted(differs, np.arange(count - p))]
        stretches[p - 1, : count - p] = nearest - np.arange(count - p)
    return stretches


def _longest(at: int, equal: np.ndarray) -> RepeatedRun | None:
    """The run from `at` that covers most, of those with the shortest period."""
    if len(equal) == 0:
        return None
    periods = np.arange(1, len(equal) + 1)
    counts = equal[:, at] // periods + 1
    covered = np.where(counts >= 3, counts * periods, 0)
    best = int(np.argmax(covered))
    if covered[best] == 0:
        return None
    return RepeatedRun(at, best + 1, int(counts[best]))


def _from_first_line(run: RepeatedRun, lines: Sequence[int], equal: np.ndarray) -> RepeatedRun:
    """The same run, begun where its lines begin, if that costs at most one repetition."""
    body = lines[run.start : run.start + run.period]
    first = min(body)
    shift = next((k for k in range(run.period) if body[k] == first and body[k - 1] != first), 0)
    start = run.start + shift
    count = int(equal[run.period - 1, start]) // run.period + 1
    return RepeatedRun(start, run.period, count) if count >= max(3, run.count - 1) else run
