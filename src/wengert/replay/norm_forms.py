"""Normalisation of rows, and of groups of channels or each of them, as kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import rows_of
from wengert.kernels.norm import native as norm
from wengert.kernels.norm.plan import NormPlan
from wengert.kernels.reduction import native as reduction
from wengert.replay.emitting import F32, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.row_forms import params_of, takers_of
from wengert.replay.sum_forms import unbroadcast
from wengert.replay.trace import OpEntry

# Chunks of rows that sums of the gradients of weights have at most, and rows in one.
_PARTS, _DEEP = 64, 1024


def normalised(emitter: Emitter, instruction: Instruction) -> bool:
    """The result, and of each row or group the mean and the reciprocal of the deviation."""
    params = params_of(instruction)
    plan, eps = params["plan"], float(params["eps"])
    views = emitter.seen((*instruction.inputs, instruction.outputs[0]))
    if views is None or not _fits(plan) or not views[0].size:
        return False
    *given, out = [dense_of(emitter, v) for v in views]
    names = _given(instruction)
    if len(given) != len(names):
        return False
    operands = dict(zip(names, given, strict=True))
    count = _channels(plan)
    weight: Any = operands.get("weight", np.ones(count, F32))
    bias: Any = operands.get("bias", np.zeros(count, F32))
    mean, rstd, *more = (emitter.room(v, plan.stats) for v in instruction.outputs[1:])
    variance = more[0] if more else emitter.temporary(plan.stats)
    total = out.size // plan.size
    arrays = (operands["input"], weight, bias, out, mean, variance, rstd)
    rows = len(plan.view) == 2
    sizes = (plan.size, int(plan.centred)) if rows else _planes(plan)
    kernel = norm.rows if rows else norm.groups
    emitter.call(kernel.f32, *arrays, *sizes, eps, total=total, chunk=rows_of(plan.size))
    return True


def normalised_back(emitter: Emitter, instruction: Instruction) -> bool:
    """All the gradients in one pass, which the instructions that take them are not part of."""
    plan, takers = params_of(instruction)["plan"], takers_of(emitter, instruction)
    views = emitter.seen(instruction.inputs)
    if takers is None or views is None or not _fits(plan) or not views[0].size:
        return False
    g, x, *given, mean, rstd = [dense_of(emitter, v) for v in views]
    weight: Any = given[0] if given else np.ones(_channels(plan), F32)
    _gradients(emitter, plan, (g, x, weight, mean, rstd), takers)
    emitter.written.update(view.root for view in takers.values())
    return True


def weight_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the weight, which is there already unless it is the only one."""
    (out,) = instruction.outputs
    if out in emitter.written:
        return True
    plan = params_of(instruction)["plan"]
    views = emitter.seen((*instruction.inputs, out))
    if views is None or len(views) != 5 or not _fits(plan) or not views[0].size:
        return False
    g, x, mean, rstd, out_view = [dense_of(emitter, v) for v in views]
    weight = np.ones(_channels(plan), F32)  # on which it does not depend
    _gradients(emitter, plan, (g, x, weight, mean, rstd), {"weight": out_view})
    return True


def bias_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the bias of rows, which is there already unless it is the only one."""
    return instruction.outputs[0] in emitter.written or unbroadcast(emitter, instruction)


def _gradients(
    emitter: Emitter, plan: NormPlan, arrays: tuple[Any, ...], takers: dict[str, View]
) -> None:
    """Write the gradients that are taken, from that of results and the other arrays."""
    grad = takers.get("input") or emitter.temporary(arrays[1].shape)
    total = arrays[1].size // plan.size
    shape: tuple[int, ...] = plan.channels[:2]
    if len(plan.view) == 2:
        chunk = max(rows_of(plan.size), min(-(-total // _PARTS), _DEEP))
        shape = -(-total // chunk), plan.size
        kernel, sizes = norm.rows_gradient, (plan.size, int(plan.centred), chunk)
    else:
        chunk, kernel, sizes = rows_of(plan.size), norm.groups_gradient, _planes(plan)
    gain, shift = emitter.temporary(shape), emitter.temporary(shape)
    emitter.call(kernel.f32, *arrays, grad, gain, shift, *sizes, total=total, chunk=chunk)
    rows, width = shape
    blocks = -(-width // reduction.LANES)
    for parts, out in ((gain, takers.get("weight")), (shift, takers.get("bias"))):
        if out is not None:
            emitter.call(
                reduction.middle_sums.f32, parts, out, rows, width, blocks, total=blocks, chunk=1
            )  # fmt: skip


def _given(instruction: Instruction) -> list[str]:
    """The operands that there are."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    return [name for name in ("input", "weight", "bias") if entry.refs.get(name) is not None]


def _fits(plan: NormPlan) -> bool:
    """Whether rows, or groups of channels, have statistics of their own."""
    rows = len(plan.view) == 2 and plan.axes == (1,)
    return rows or (0 not in plan.axes and plan.centred)


def _channels(plan: NormPlan) -> int:
    """How many elements weight and bias have."""
    return plan.size if len(plan.view) == 2 else plan.channels[1]


def _planes(plan: NormPlan) -> tuple[int, int, int]:
    """The planes of a group, their elements, and the channels."""
    _, count, space = plan.channels
    return plan.size // space, space, count
