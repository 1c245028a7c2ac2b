"""Resizing, padding by elements and adaptive means as kernels: along one axis after the other."""

from __future__ import annotations

from math import prod

from wengert.kernels import resample
from wengert.kernels.resample.native import call_planes, call_resampled
from wengert.replay.emitting import Emitter
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import clear, dense_of, pair_of
from wengert.replay.row_forms import params_of


def resampled(emitter: Emitter, instruction: Instruction) -> bool:
    """Each result is made of a few weighted elements."""
    return _along(emitter, instruction, back=False)


def resampled_back(emitter: Emitter, instruction: Instruction) -> bool:
    """Each gradient is added to those of the elements that the result was made of."""
    return _along(emitter, instruction, back=True)


def _along(emitter: Emitter, instruction: Instruction, back: bool) -> bool:
    views, taps = pair_of(emitter, instruction), params_of(instruction)["taps"]
    if views is None or not taps:
        return False
    x, out = dense_of(emitter, views[0]), views[1]
    if resample.are_of_planes(len(x.shape), taps):
        rows, columns = (t.source[0] for t in sorted(taps, key=lambda along: along.axis))
        sums = emitter.temporary((prod(x.shape[:-2]), len(columns))) if back else None
        if back:
            clear(emitter, out)
        call_planes(emitter, "f32", x, out, rows, columns, sums)
        return True
    order = taps[::-1] if back else taps
    for along in order:
        axis, length = along.axis, along.size if back else along.source.shape[1]
        shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        to = out if along is order[-1] else emitter.temporary(shape)
        call_resampled(emitter, "f32", x, to, along.source, along.weight, axis, back)
        x = to
    return True
