"""Copies of parts of arrays as kernels: what NumPy does, for programs of kernels."""

from __future__ import annotations

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32, f32s, i64, i64s, inline, storeds


@inline
def place_of(row: i64, sizes: i64s, steps: i64s, rank: i64) -> i64:
    """Where a row of the last dimension begins, of elements with a distance in each dimension."""
    rest = row
    place = 0
    for k in range(rank - 1):
        d = rank - 2 - k
        place = place + rest % sizes[d] * steps[d]
        rest = rest // sizes[d]
    return place


@kernel
def copy_rows(
    x: storeds, out: storeds, x_step: i64, out_step: i64, width: i64, start: i64, stop: i64
) -> None:
    """Rows of elements that are together, with a distance in each array."""
    for r in range(start, stop):
        row = at(x, r * x_step)
        y = at(out, r * out_step)
        for j in range(width):
            y[j] = row[j]


@kernel
def fill(x: f32s, factor: f32, out: storeds, start: i64, stop: i64) -> None:
    """One element times a number, everywhere."""
    value = x[0] * factor
    for j in range(start, stop):
        out[j] = value


@kernel
def copy_dims(
    x: storeds, out: storeds, sizes: i64s, x_steps: i64s, out_steps: i64s, rank: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """Elements with a distance in each dimension of each array; a task is a row of the last."""
    width = sizes[rank - 1]
    step = x_steps[rank - 1]
    to_step = out_steps[rank - 1]
    for r in range(start, stop):
        rest = r
        place = 0
        to = 0
        for k in range(rank - 1):
            d = rank - 2 - k
            index = rest % sizes[d]
            rest = rest // sizes[d]
            place = place + index * x_steps[d]
            to = to + index * out_steps[d]
        row = at(x, place)
        y = at(out, to)
        if step == 1 and to_step == 1:
            for j in range(width):
                y[j] = row[j]
        else:
            for j in range(width):
                y[j * to_step] = row[j * step]


@kernel
def copy_integers(
    x: i64s, out: i64s, sizes: i64s, steps: i64s, rank: i64, start: i64, stop: i64
) -> None:
    """Integers with a distance in each dimension, in their order; a task is a row of the last."""
    width = sizes[rank - 1]
    for r in range(start, stop):
        row = at(x, place_of(r, sizes, steps, rank))
        y = at(out, r * width)
        for j in range(width):
            y[j] = row[j * steps[rank - 1]]


@kernel
def checked_indices(index: i64s, out: i64s, wrong: i64s, limit: i64, start: i64, stop: i64) -> None:
    """Indices; 0 instead of those out of bounds, of which one is noted."""
    for r in range(start, stop):
        i = index[r]
        if i >= 0 and i < limit:
            out[r] = i
        else:
            out[r] = 0
            wrong[1] = i
            wrong[0] = 1
