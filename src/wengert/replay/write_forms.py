"""Writing to parts of arrays, and the gradients of both sides, as copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.replay.emitting import Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of, fill_with, shown
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_to


def _part(instruction: Instruction, whole: View) -> View | None:
    """What a basic key shows of a view."""
    key = params_of(instruction)["key"]
    found = shown(whole, lambda array: array[key])
    return None if found is None or not found[0].size else found[0]


def _written(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements, with others, which broadcast, in a part."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 3 or not all(v.size for v in views):
        return False
    x, values, out = views
    part = _part(instruction, out)
    if part is None or len(values.shape) > len(part.shape):
        return False
    if np.broadcast_shapes(values.shape, part.shape) != part.shape:
        return False
    copy(emitter, x, out)
    emitter.changed.add(out.root)
    copy(emitter, values.expanded(part.shape), part)
    return True


def _erased(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what is written to: zeros in the part."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[1].size:
        return False
    g, out = views
    part = _part(instruction, out)
    if part is None:
        return False
    copy(emitter, g, out)
    emitter.changed.add(out.root)
    zero = emitter.temporary(())
    fill_with(emitter, 0.0, zero)
    copy(emitter, zero.expanded(part.shape), part)
    return True


def _of_values(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what is written: that of the part, summed where it was repeated."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[1].size:
        return False
    g, out = views
    part = _part(instruction, g)
    return part is not None and sum_to(emitter, dense_of(emitter, part), out)


WRITES: dict[Any, Callable[[Emitter, Instruction], bool]] = {
    "basic_written": _written,
    ("basic_written", "input"): _erased,
    ("basic_written", "values"): _of_values,
}
