"""Largest and smallest elements, where they are, and what is at such places, as kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.axes import axis_of
from wengert.kernels.chunks import rows_of
from wengert.kernels.reduction import native as reduction
from wengert.kernels.reduction.calls import MOST_PLACES
from wengert.kernels.scatter import native as scatter
from wengert.replay.emitting import F32, I64, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import clear, dense_of
from wengert.replay.lines import Lines, folded, reduced_axes, unreduced
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_over

_LANES = reduction.LANES
_MAXIMA = Lines(reduction.row_maxima, reduction.middle_maxima, _LANES)
_MINIMA = Lines(reduction.row_minima, reduction.middle_minima, _LANES)
_PLACES_OF_MAXIMA = Lines(reduction.row_argmaxima, reduction.middle_argmaxima, _LANES)
_PLACES_OF_MINIMA = Lines(reduction.row_argminima, reduction.middle_argminima, _LANES)
# Elements from which the extremes of parts are found first, and how many are in one.
_LONG, _PART = 1 << 16, 1024


def _extremes(lines: Lines, emitter: Emitter, instruction: Instruction) -> bool:
    """Over some dimensions; NaN where there is one."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[0].size:
        return False
    source, out = views
    axes = reduced_axes(params_of(instruction).get("dim"), len(source.shape))
    if not axes:
        return False
    x = folded(emitter, source, axes)
    while x.shape[0] == x.shape[2] == 1 and x.size >= _LONG and not x.size % _PART:
        parts = emitter.temporary((1, x.size // _PART, 1))
        emitter.call(
            lines.rows.f32, x, parts, _PART, total=parts.size, chunk=rows_of(_PART)
        )  # fmt: skip
        x = parts
    lines.run(emitter, (x, out), x.shape, 1)
    return True


def _extremes_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of extremes: those that are alike have equal parts in it."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 4 or not views[1].size:
        return False
    g, x, extreme, out = views
    axes = reduced_axes(params_of(instruction).get("dim"), len(x.shape))
    if not axes:
        return False
    g, extreme = (unreduced(v, x.shape, axes) for v in (g, extreme))
    ties, counts = emitter.temporary(x.shape), emitter.temporary(extreme.shape)
    return (
        loop_over(emitter, [_tied], x.shape, [x, extreme], [ties])
        and sum_over(emitter, ties, counts, axes)
        and loop_over(emitter, [_share], x.shape, [g, ties, counts], [out])
    )


def _tied(x: Any, extreme: Any) -> Any:
    """1 for an extreme, or NaN where that is the extreme; 0 for others."""
    tied = (x == extreme) | ((x != x) & (extreme != extreme))
    return np.where(tied, np.float32(1), np.float32(0))


def _share(g: Any, tie: Any, count: Any) -> Any:
    return g * (tie / count)


def _places(lines: Lines, emitter: Emitter, instruction: Instruction) -> bool:
    """The index of the first extreme along a dimension, or among all elements."""
    (source,) = emitter.seen(instruction.inputs[:1]) or (None,)
    out, dim = emitter.view(instruction.outputs[0]), params_of(instruction)["dim"]
    if source is None or out is None or out.dtype != I64 or not source.size or not source.shape:
        return False
    rank = len(source.shape)
    axes = (axis_of(dim, rank),) if dim is not None else tuple(range(rank))
    x = folded(emitter, source, axes)
    if x.shape[1] > MOST_PLACES:
        return False
    lines.run(emitter, (x, out), x.shape, 1)
    return True


def _picked(emitter: Emitter, instruction: Instruction) -> bool:
    """The element of each index along a dimension."""
    x, index = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if x is None or out is None:
        return False
    found = _at_places(emitter, instruction, x, index, out)
    if found is None:
        return False
    places, sizes = found
    scatter.call_take(emitter, dense_of(emitter, x), places, out, sizes, True)
    return True


def _put_back(emitter: Emitter, instruction: Instruction) -> bool:
    """Zeros with a gradient added at each index along a dimension."""
    g, index = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if g is None or out is None:
        return False
    found = _at_places(emitter, instruction, out, index, g)
    if found is None:
        return False
    places, sizes = found
    clear(emitter, out)
    scatter.call_add(emitter, out, places, dense_of(emitter, g), sizes, True)
    return True


def _at_places(
    emitter: Emitter, instruction: Instruction, whole: View, index: View | None, part: View
) -> tuple[View, tuple[int, int, int]] | None:
    """Indices along a dimension, and how many elements are before it, in it and behind it."""
    if index is None or index.dtype != I64 or (whole.dtype, part.dtype) != (F32, F32):
        return None
    if not whole.shape or not (whole.size and part.size) or index.shape != part.shape:
        return None
    axis, shape = axis_of(params_of(instruction)["dim"], len(whole.shape)), whole.shape
    before, n, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    count = part.shape[axis : len(part.shape) - len(behind)]  # nothing, if it was dropped
    if part.shape != (*before, *count, *behind) or not index.is_dense:
        return None
    places = emitter.checked(index, n, partial(_no_place, n))
    return places, (prod(before), n, prod(behind))


def _no_place(length: int, index: int) -> Exception:
    return IndexError(f"index {index} is out of bounds for a dimension of size {length}")


EXTREMES: dict[Any, Callable[[Emitter, Instruction], bool]] = {
    **dict.fromkeys(("amax", "_max_of_all"), partial(_extremes, _MAXIMA)),
    **dict.fromkeys(("amin", "_min_of_all"), partial(_extremes, _MINIMA)),
    **dict.fromkeys(
        ((op, "input") for op in ("amax", "amin", "_max_of_all", "_min_of_all")), _extremes_back
    ),
    **dict.fromkeys(("argmax", "_place_of_max"), partial(_places, _PLACES_OF_MAXIMA)),
    **dict.fromkeys(("argmin", "_place_of_min"), partial(_places, _PLACES_OF_MINIMA)),
    **dict.fromkeys(("_pick", "take_along"), _picked),
    **dict.fromkeys((("_pick", "input"), ("take_along", "input")), _put_back),
}
