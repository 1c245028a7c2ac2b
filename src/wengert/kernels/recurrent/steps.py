"""The layout of the steps of packed sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from wengert.core.forks import cached_property

Array = np.ndarray
Rows = slice | Array


class Steps:
    """The rows of each step, and the order of the rows of a sequence.

    `sizes` is the number of sequences running at each step, non-increasing. `reverse` starts
    each sequence at its last row.
    """

    def __init__(self, sizes: Sequence[int], reverse: bool) -> None:
        self.sizes, self.reverse = sizes, reverse
        self.batch = sizes[0]
        ends = [*accumulate(sizes)]
        self.rows = ends[-1]
        steps = [(slice(end - n, end), n) for end, n in zip(ends, sizes, strict=True)]
        self.order = steps[::-1] if reverse else steps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Steps) and self._as_tuple == other._as_tuple

    def __hash__(self) -> int:
        return hash(self._as_tuple)

    @property
    def _as_tuple(self) -> tuple[tuple[int, ...], bool]:
        return (*self.sizes,), self.reverse

    @cached_property
    def table(self) -> tuple[Array, Array]:
        """The first row and the number of rows of each step, in order."""
        firsts = np.array([rows.start for rows, _ in self.order], np.int64)
        return firsts, np.array([n for _, n in self.order], np.int64)

    @cached_property
    def _even(self) -> bool:
        return self.sizes[-1] == self.batch

    @cached_property
    def _followed(self) -> Rows:
        """The rows that another of the same sequence follows in the layout, in its order."""
        if self._even:
            return slice(0, self.rows - self.batch)
        starts = [0, *accumulate(self.sizes)]
        parts = [start + np.arange(n) for start, n in zip(starts, self.sizes[1:], strict=False)]
        return np.concatenate(parts)

    @cached_property
    def _last(self) -> Rows:
        """The last row of each sequence in the layout."""
        if self._even:
            return slice(self.rows - self.batch, self.rows)
        starts = np.array([0, *accumulate(self.sizes)])
        column = np.arange(self.batch)
        lengths = (np.asarray(self.sizes) > column[:, None]).sum(1)
        return np.asarray(starts[lengths - 1] + column)

    @property
    def begin(self) -> Rows:
        """The row computed first, for each sequence."""
        return self._last if self.reverse else slice(0, self.batch)

    @property
    def end(self) -> Rows:
        """The row computed last, for each sequence."""
        return slice(0, self.batch) if self.reverse else self._last

    @property
    def links(self) -> tuple[Rows, Rows]:
        """Rows, each with the row whose state it starts from."""
        following = slice(self.batch, self.rows)
        return (self._followed, following) if self.reverse else (following, self._followed)
