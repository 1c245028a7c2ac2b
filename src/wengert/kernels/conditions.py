"""Integers compared and counted as kernels, for programs of kernels."""

from __future__ import annotations

from wengert.kernels.copies import place_of
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32, f32s, i64, i64s, u8, u8s


@kernel
def compared(
    x: i64s, y: i64s, out: u8s, sizes: i64s, x_steps: i64s, y_steps: i64s, rank: i64, less: i64,
    same: i64, more: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """One of three answers for each pair, which have a distance in each dimension of each array."""
    width = sizes[rank - 1]
    x_step = x_steps[rank - 1]
    y_step = y_steps[rank - 1]
    for r in range(start, stop):
        a = at(x, place_of(r, sizes, x_steps, rank))
        b = at(y, place_of(r, sizes, y_steps, rank))
        row = at(out, r * width)
        for j in range(width):
            u = a[j * x_step]
            v = b[j * y_step]
            row[j] = u8(less if u < v else (same if u == v else more))


@kernel
def to_floats(x: i64s, out: f32s, start: i64, stop: i64) -> None:
    """The nearest floats."""
    for i in range(start, stop):
        out[i] = f32(x[i])


@kernel
def counted(x: u8s, out: i64s, n: i64, inner: i64, start: i64, stop: i64) -> None:
    """How many of n are true, of a mask (outer, n, inner)."""
    for r in range(start, stop):
        row = at(x, r // inner * n * inner + r % inner)
        count = 0
        for k in range(n):
            count = count + (1 if row[k * inner] != 0 else 0)
        out[r] = count


@kernel
def marked(index: i64s, out: i64s, width: i64, start: i64, stop: i64) -> None:
    """Rows of zeros with a one at the index."""
    for r in range(start, stop):
        row = at(out, r * width)
        for j in range(width):
            row[j] = 0
        row[index[r]] = 1
