"""Sliding blocks added into planes, as a compiled kernel."""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels.chunks import real_of, rows_of
from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, i64, i64s, inline, reals


@inline
def _first(offset: i64, step: i64) -> i64:
    """The first of the places offset, offset + step, ... that is not negative."""
    return (max(-offset, 0) + step - 1) // step


@inline
def _behind(offset: i64, step: i64, size: i64, count: i64) -> i64:
    """How many of the first places are below a size."""
    return min(count, max(size - offset + step - 1, 0) // step)


@kernel
def _added(blocks: reals, out: reals, sizes: i64s, steps: i64s, start: i64, stop: i64) -> None:
    """The blocks of each plane; `out` has been zero.

    `sizes` are those of a block, of their grid, and of a plane; `steps` the strides of the grid,
    the padding before, and the dilations of a block; each along both axes.
    """
    tall = sizes[2]
    wide = sizes[3]
    height = sizes[4]
    width = sizes[5]
    taps = sizes[0] * sizes[1]
    for p in range(start, stop):
        plane = at(out, p * height * width)
        for t in range(taps):
            source = at(blocks, (p * taps + t) * tall * wide)
            down = t // sizes[1] * steps[4] - steps[2]
            across = t % sizes[1] * steps[5] - steps[3]
            first = _first(across, steps[1])
            behind = _behind(across, steps[1], width, wide)
            for y in range(_first(down, steps[0]), _behind(down, steps[0], height, tall)):
                row = at(source, y * wide)
                target = at(plane, (y * steps[0] + down) * width)
                if steps[1] == 1:
                    for x in range(first, behind):
                        target[x + across] = target[x + across] + row[x]
                else:
                    for x in range(first, behind):
                        place = x * steps[1] + across
                        target[place] = target[place] + row[x]


def added(blocks: np.ndarray, size: Shape, geometry: Geometry) -> np.ndarray | None:
    """Blocks (batch, channels, *kernel, *grid) added into planes (batch, channels, *size).

    None if it cannot.
    """
    run = real_of(blocks) if blocks.size else None
    if run is None:
        return None
    out = np.zeros((*blocks.shape[:2], *size), blocks.dtype)
    sizes = np.array([*blocks.shape[2:], *size])
    lows = [low for low, _ in geometry.padding]
    steps = np.array([*geometry.stride, *lows, *geometry.dilation])
    work = prod(blocks.shape[2:])
    getattr(_added, run)(blocks, out, sizes, steps, prod(blocks.shape[:2]), rows_of(work))
    return out
