"""The gradient of a table of which rows were looked up, as a list of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.sparse import CooTensor, coo
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.ops.joining import cat
from wengert.ops.shape import reshape
from wengert.ops.subscript import Deferred, index

Shape = tuple[int, ...]


class RowGradient(Deferred):
    """A gradient for each row that was looked up, in order; rows may come more than once.

    A leaf receives it as a sparse tensor; what was computed receives the sums.
    """

    __slots__ = ("_numbers", "_rows", "shape")

    def __init__(self, numbers: np.ndarray, rows: Any, shape: Shape) -> None:
        self._numbers, self._rows, self.shape = numbers, rows, shape

    @classmethod
    def of(cls, g: Any, numbers: Any, shape: Shape, left_out: int | None) -> RowGradient:
        """That of a look-up, from its cotangent; without the row that is left out."""
        flat = (memory_of(numbers) if isinstance(numbers, Tensor) else numbers).reshape(-1)
        rows = reshape(g, (len(flat), shape[1]))
        if left_out is not None and (flat == left_out).any():
            positions = np.flatnonzero(flat != left_out)
            flat, rows = flat[positions], index(rows, (positions,))
        return cls(flat.astype(np.int64), rows, shape)

    @property
    def dtype(self) -> Any:
        """That of the rows."""
        return self._rows.dtype

    def dense(self) -> Any:
        """The sums, as an array; as a Tensor where the rows are one."""
        if isinstance(self._rows, Tensor):
            return self.at_leaf().to_dense()
        return kernels.scatter.sum_rows(self.shape[0], self._numbers, self._rows, None)

    def at_leaf(self) -> CooTensor:
        """The rows as a sparse tensor, which is not coalesced."""
        rows = self._rows if isinstance(self._rows, Tensor) else wrap(self._rows)
        return coo(self._numbers[None], rows, self.shape)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, RowGradient):
            return self.dense() + other
        numbers = np.concatenate([self._numbers, other._numbers])
        return RowGradient(numbers, cat([self._rows, other._rows]), self.shape)

    __radd__ = __add__
