"""Python numbers combined with tensors, as 0-d arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes

Number = (bool, int, float, complex)

# Python numbers as 0-d arrays, by (value, dtype): converting them takes NumPy twice as long.
# Only inexact dtypes: 2 and 2.0 are the same key, but mean different things next to integers.
# No zeros in the first: 0.0 and -0.0 are the same key as well. Operations without a derivative
# (comparisons) do not distinguish them and use the second.
Constants = dict[tuple[Any, "np.dtype[Any]"], np.ndarray]
constants: Constants = {}
thresholds: Constants = {}
_MOST_CONSTANTS = 4096


def number_as_array(value: complex, to: np.dtype[Any], table: Constants = constants) -> np.ndarray:
    """A Python number as a 0-d array of a dtype, from the table if it is there."""
    try:
        array = np.asarray(value, to)
    except OverflowError:
        if to.kind not in "iu":
            raise
        # torch's integers wrap around
        array = np.asarray(value % 2 ** (8 * to.itemsize), f"u{to.itemsize}").astype(to)
    if to in dtypes.inexact and value == value and (value or table is thresholds):
        if len(table) >= _MOST_CONSTANTS:
            table.clear()
        table[value, to] = array
    return array
