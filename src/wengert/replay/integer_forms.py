"""Comparisons, counts and conversions of integers and masks as kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from wengert.kernels import conditions
from wengert.kernels.chunks import rows_of
from wengert.kernels.jit import CHUNK
from wengert.replay.emitting import BOOL, F32, I64, Emitter
from wengert.replay.ir import Instruction
from wengert.replay.lines import reduced_axes
from wengert.replay.loop_forms import spread
from wengert.replay.row_forms import params_of


def _compared(answers: tuple[int, int, int], emitter: Emitter, instruction: Instruction) -> bool:
    """The answer for a smaller, an equal and a larger integer, which broadcast."""
    views = [emitter.view(v) for v in (*instruction.inputs, *instruction.outputs)]
    found = [v for v in views if v is not None]
    if len(found) != 3 or [v.dtype for v in found] != [I64, I64, BOOL] or not found[2].size:
        return False
    x, y, out = found
    shape = out.shape or (1,)
    steps = [(0,) * (len(shape) - len(v.shape)) + spread(v) for v in (x, y)]
    sizes, x_steps, y_steps = (np.array(v, np.int64) for v in (shape, *steps))
    width = shape[-1]
    emitter.call(
        conditions.compared.f32, x, y, out, sizes, x_steps, y_steps, len(shape), *answers,
        total=out.size // width, chunk=rows_of(width),
    )  # fmt: skip
    return True


def converted(emitter: Emitter, instruction: Instruction) -> bool:
    """Integers as floats."""
    x, out = (emitter.view(v) for v in (instruction.inputs[0], instruction.outputs[0]))
    if x is None or out is None or (x.dtype, out.dtype) != (I64, F32):
        return False
    if not x.is_dense or not x.size:
        return False
    emitter.call(conditions.to_floats.f32, x, out, total=out.size, chunk=CHUNK)
    return True


def counted(emitter: Emitter, instruction: Instruction) -> bool:
    """How many elements of a mask are true, over some neighbouring dimensions."""
    x, out = (emitter.view(v) for v in (instruction.inputs[0], instruction.outputs[0]))
    if x is None or out is None or (x.dtype, out.dtype) != (BOOL, I64):
        return False
    axes = reduced_axes(params_of(instruction).get("dim"), len(x.shape))
    if not x.is_dense or not x.size or not axes or axes != (*range(axes[0], axes[-1] + 1),):
        return False
    n, inner = prod(x.shape[d] for d in axes), prod(x.shape[axes[-1] + 1 :])
    emitter.call(conditions.counted.f32, x, out, n, inner, total=out.size, chunk=rows_of(n))
    return True


def one_hot(emitter: Emitter, instruction: Instruction) -> bool:
    """For each integer a row of zeros with a one in its place."""
    index, out = (emitter.view(v) for v in (instruction.inputs[0], instruction.outputs[0]))
    if index is None or out is None or (index.dtype, out.dtype) != (I64, I64):
        return False
    if not index.is_dense or not out.size:
        return False
    width = out.shape[-1]
    places = emitter.checked(index, width, partial(_no_class, width))
    emitter.call(conditions.marked.f32, places, out, width, total=index.size, chunk=rows_of(width))
    return True


def _no_class(classes: int, index: int) -> Exception:
    if index < 0:
        return RuntimeError(f"Class values must be non-negative, got {index}")
    return RuntimeError(f"Class values must be smaller than num_classes, got {index} and {classes}")


_ANSWERS = {
    "eq": (0, 1, 0), "ne": (1, 0, 1), "lt": (1, 0, 0), "le": (1, 1, 0), "gt": (0, 0, 1),
    "ge": (0, 1, 1),
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Emitter, Instruction], bool]] = {
    name: partial(_compared, answers) for name, answers in _ANSWERS.items()
}
