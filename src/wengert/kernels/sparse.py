"""Products and sums at given places, with SciPy's kernels.

SciPy is imported by the first product. It computes on one thread, and knows no half precision:
those are computed in float32.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels.precision import narrowed, widened
from wengert.kernels.scatter import sum_rows

Shape = tuple[int, ...]
Order = tuple["np.ndarray | None", np.ndarray, np.ndarray]

_CHUNK = 1 << 16  # rows of gathered factors at a time


class Pattern:
    """Where the values of a matrix stand: a row and a column for each.

    Products by rows and by columns need the places in another order each; both are worked out on
    first use, for a pattern and its transpose together.
    """

    __slots__ = ("_axis", "_coordinates", "_orders", "shape")

    def __init__(self, coordinates: np.ndarray, shape: tuple[int, int], axis: int = 0) -> None:
        self._coordinates, self.shape, self._axis = coordinates, shape, axis
        self._orders: list[Order | None] = [None, None]

    @classmethod
    def of_bounds(cls, bounds: np.ndarray, plain: np.ndarray, shape: tuple[int, int]) -> Pattern:
        """That of compressed rows."""
        pattern = cls(np.stack([spelled_out(bounds), plain.astype(np.int64)]), shape)
        pattern._orders[0] = None, bounds, plain
        return pattern

    @property
    def rows(self) -> np.ndarray:
        """The row of each value."""
        rows: np.ndarray = self._coordinates[self._axis]
        return rows

    @property
    def columns(self) -> np.ndarray:
        """The column of each value."""
        columns: np.ndarray = self._coordinates[1 - self._axis]
        return columns

    def transposed(self) -> Pattern:
        """The pattern with rows and columns exchanged."""
        other = Pattern(self._coordinates, self.shape[::-1], 1 - self._axis)
        other._orders = self._orders
        return other

    def _by_row(self) -> Order:
        """The order of the values by row, the bounds of the rows in it, and their columns."""
        order = self._orders[self._axis]
        if order is None:
            order = self._orders[self._axis] = self._ordered()
        return order

    def _ordered(self) -> Order:
        rows, columns = self.rows, self.columns
        index = np.int32 if max(*self.shape, len(rows)) < 1 << 31 else np.int64
        bounds = bounds_of(rows, self.shape[0]).astype(index)
        if (rows[1:] >= rows[:-1]).all():
            return None, bounds, columns.astype(index)
        permutation = np.argsort(rows, kind="stable")
        return permutation, bounds, columns[permutation].astype(index)

    def matrix(self, values: np.ndarray) -> Any:
        """SciPy's matrix of these values."""
        from scipy.sparse import csr_array

        permutation, bounds, columns = self._by_row()
        ordered = values if permutation is None else values[permutation]
        return csr_array((ordered, columns, bounds), shape=self.shape)


def bounds_of(rows: np.ndarray, count: int) -> np.ndarray:
    """Where each of `count` rows begins among sorted row numbers, and the end of the last."""
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=bounds[1:])
    return bounds


def spelled_out(bounds: np.ndarray) -> np.ndarray:
    """The row of each value, from the bounds of the rows."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def multiply(values: np.ndarray, dense: np.ndarray, pattern: Pattern) -> np.ndarray:
    """The matrix of these values times a dense one."""
    out: np.ndarray = pattern.matrix(widened(values)) @ widened(dense)
    return narrowed(out, values.dtype)


def sample_product(left: np.ndarray, right: np.ndarray, pattern: Pattern) -> np.ndarray:
    """``left @ right.T`` at the places of a pattern."""
    a, b = widened(left), widened(right)
    rows, columns = pattern.rows, pattern.columns
    out = np.empty(len(rows), a.dtype)
    for start in range(0, len(rows), _CHUNK):
        end = start + _CHUNK
        np.einsum("ij,ij->i", a[rows[start:end]], b[columns[start:end]], out=out[start:end])
    return narrowed(out, left.dtype)


def multiply_at(
    left: np.ndarray, right: np.ndarray, first: Pattern, second: Pattern, places: Pattern
) -> np.ndarray:
    """The product of two sparse matrices at given places."""
    product = first.matrix(widened(left)) @ second.matrix(widened(right))
    product.sort_indices()
    width = product.shape[1]
    keys = spelled_out(product.indptr) * width + product.indices
    wanted = places.rows * width + places.columns
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    out = np.zeros(len(wanted), product.dtype)
    if len(keys):
        present = keys[at] == wanted
        out[present] = product.data[at[present]]
    return narrowed(out, left.dtype)


def product_places(first: Pattern, second: Pattern) -> Pattern:
    """Where the product of two sparse matrices has values, in the order of rows."""
    ones = [p.matrix(np.ones(len(p.rows), np.float32)) for p in (first, second)]
    product = ones[0] @ ones[1]
    product.sort_indices()
    return Pattern.of_bounds(product.indptr, product.indices, product.shape)


def keys_of(coordinates: np.ndarray, shape: Shape) -> np.ndarray:
    """A number for each place, in the order of memory of a dense tensor."""
    keys = np.zeros(coordinates.shape[1], np.int64)
    for row, n in zip(coordinates, shape, strict=False):
        keys = keys * n + row
    return keys


def coordinates_of(keys: np.ndarray, shape: Shape) -> np.ndarray:
    """The places that numbers stand for."""
    if not shape or not prod(shape):
        return np.zeros((len(shape), len(keys)), np.int64)
    return np.stack(np.unravel_index(keys, shape)).astype(np.int64)


def distinct_places(coordinates: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray] | None:
    """The different places in order, and which of them each one is; None if they are already so."""
    keys = keys_of(coordinates, shape)
    if (keys[1:] > keys[:-1]).all():
        return None
    different, group = np.unique(keys, return_inverse=True)
    return coordinates_of(different, shape[: len(coordinates)]), group.reshape(-1)


def add_at_places(values: np.ndarray, coordinates: np.ndarray, shape: Shape) -> np.ndarray:
    """Zeros of a shape, with each value added at its place in the leading dimensions."""
    lead = shape[: len(coordinates)]
    rest = shape[len(coordinates) :]
    flat = widened(values).reshape(values.shape[0], prod(rest))
    out = sum_rows(prod(lead), keys_of(coordinates, lead), flat, None)
    return narrowed(out, values.dtype).reshape(shape)
