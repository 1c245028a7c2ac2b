"""Copies of parts of arrays as kernels: what NumPy does, for programs of kernels."""

from __future__ import annotations

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32, f32s, i64


@kernel
def copy_rows(
    x: f32s, out: f32s, x_step: i64, out_step: i64, width: i64, start: i64, stop: i64
) -> None:
    """Rows of elements that are together, with a distance in each array."""
    for r in range(start, stop):
        row = at(x, r * x_step)
        y = at(out, r * out_step)
        for j in range(width):
            y[j] = row[j]


@kernel
def fill(x: f32s, factor: f32, out: f32s, start: i64, stop: i64) -> None:
    """One element times a number, everywhere."""
    value = x[0] * factor
    for j in range(start, stop):
        out[j] = value
