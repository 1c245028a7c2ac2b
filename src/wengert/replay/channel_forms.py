"""Batch normalisation as kernels: of planes of channels, and of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import rows_of
from wengert.kernels.norm import native as norm
from wengert.kernels.norm.calls import DEEP, WIDE
from wengert.replay.emitting import F32, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of, takers_of
from wengert.replay.sum_forms import root
from wengert.replay.trace import OpEntry


def _operands(emitter: Emitter, values: tuple[int, ...], plan: Any) -> list[View] | None:
    """The views of dense operands, if each channel has its own statistics."""
    views = emitter.seen(values)
    if views is None or plan.axes != (0, 2) or not plan.centred or not plan.size:
        return None
    return views if all(v.is_dense for v in views) else None


def _in_columns(plan: Any) -> bool:
    """Whether channels lie side by side, and are enough for vectors."""
    _, count, space = plan.view
    return space == 1 and bool(count >= WIDE)


def batch_norm(emitter: Emitter, instruction: Instruction) -> bool:
    """By the statistics of the batch, which are further results."""
    params = params_of(instruction)
    plan, eps = params["plan"], params["eps"]
    views = _operands(emitter, (*instruction.inputs, instruction.outputs[0]), plan)
    if views is None or len(views) not in (2, 4):
        return False
    batch, count, space = plan.view
    x, *given, out = views
    weight: Any
    bias: Any
    weight, bias = given or (np.ones(count, F32), np.zeros(count, F32))
    mean, rstd, variance = (emitter.room(v, plan.stats) for v in instruction.outputs[1:])
    if not _in_columns(plan):
        emitter.call(
            norm.channels.f32, x, weight, bias, out, mean, variance, rstd, batch, space, count,
            eps, total=count, chunk=min(norm.MOST, rows_of(batch * space)),
        )  # fmt: skip
        return True
    chunk = min(DEEP, rows_of(count))
    parts = emitter.temporary((-(-batch // chunk), count))
    squares, scale = emitter.temporary(parts.shape), emitter.temporary((count,))
    emitter.call(
        norm.column_statistics.f32, x, parts, squares, count, chunk, total=batch, chunk=chunk
    )  # fmt: skip
    emitter.call(
        norm.merged_statistics.f32, parts, squares, weight, mean, variance, rstd, scale, count,
        batch, chunk, eps, total=count, chunk=count,
    )  # fmt: skip
    emitter.call(
        norm.scaled_columns.f32, x, mean, scale, bias, out, count, total=batch,
        chunk=rows_of(count),
    )  # fmt: skip
    return True


def batch_norm_back(emitter: Emitter, instruction: Instruction) -> bool:
    """All three gradients."""
    plan = params_of(instruction)["plan"]
    takers = takers_of(emitter, instruction)
    views = _operands(emitter, instruction.inputs, plan)
    if takers is None or views is None or len(views) not in (4, 5):
        return False
    batch, count, space = plan.view
    g, x, *given, mean, rstd = views
    weight: Any = given[0] if given else np.ones(count, F32)
    grad, gain, shift = (
        takers.get(n) or emitter.temporary(s)
        for n, s in (("input", x.shape), ("weight", (count,)), ("bias", (count,)))
    )
    emitter.written.update(view.root for view in takers.values())
    if not _in_columns(plan):
        emitter.call(
            norm.channels_gradient.f32, g, x, weight, mean, rstd, grad, gain, shift, batch, space,
            count, total=count, chunk=min(norm.MOST, rows_of(batch * space)),
        )  # fmt: skip
        return True
    chunk = min(DEEP, rows_of(count))
    pieces = -(-batch // chunk)
    gains, shifts = emitter.temporary((pieces, count)), emitter.temporary((pieces, count))
    scale, common, tilt = (emitter.temporary((count,)) for _ in range(3))
    emitter.call(
        norm.column_products.f32, g, x, mean, gains, shifts, count, chunk, total=batch, chunk=chunk
    )  # fmt: skip
    emitter.call(
        norm.merged_products.f32, gains, shifts, weight, rstd, gain, shift, scale, common, tilt,
        count, batch, pieces, total=count, chunk=count,
    )  # fmt: skip
    emitter.call(
        norm.columns_gradient.f32, g, x, mean, scale, common, tilt, grad, count, total=batch,
        chunk=rows_of(count),
    )  # fmt: skip
    return True


def by_running(emitter: Emitter, instruction: Instruction) -> bool:
    """By statistics that are given; what the gradients need of them are further results."""
    entry, eps = instruction.entry, np.float32(params_of(instruction)["eps"])
    assert isinstance(entry, OpEntry)
    names = [name for name, ref in entry.refs.items() if ref is not None]
    views = emitter.seen((*instruction.inputs, instruction.outputs[0]))
    if views is None or len(views) != len(names) + 1 or not all(v.size for v in views):
        return False
    *given, out = [dense_of(emitter, v) for v in views]
    operands = dict(zip(names, given, strict=True))
    count = out.shape[1]
    mean, rstd = (emitter.room(v, (count,)) for v in instruction.outputs[1:])
    copy(emitter, operands["running_mean"], mean)  # the buffer may be another by then
    variance = operands["running_var"]
    if not loop_over(emitter, [lambda v: 1 / root(v + eps)], (count,), [variance], [rstd]):
        return False
    scale = _scale(emitter, operands.get("weight"), rstd)
    shift: Any = operands.get("bias", np.zeros(count, F32))
    _scaled(emitter, operands["input"], mean, scale, shift, out)
    return True


def by_running_input(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the input, from that of results, the weight and what was kept."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or not all(v.size for v in views):
        return False
    g, *weights, rstd, out = [dense_of(emitter, v) for v in views]
    zeros = np.zeros(out.shape[1], F32)
    scale = _scale(emitter, weights[0] if weights else None, rstd)
    _scaled(emitter, g, zeros, scale, zeros, out)
    return True


def by_running_sums(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of weight and bias."""
    takers, views = takers_of(emitter, instruction), emitter.seen(instruction.inputs)
    if takers is None or views is None or not all(v.size for v in views):
        return False
    g, x, mean, rstd = [dense_of(emitter, v) for v in views]
    batch, count = x.shape[:2]
    space = x.size // (batch * count)
    gain, shift = (takers.get(n) or emitter.temporary((count,)) for n in ("weight", "bias"))
    emitter.call(
        norm.channels_gradient.f32, g, x, rstd, mean, rstd, None, gain, shift, batch, space, count,
        total=count, chunk=min(norm.MOST, rows_of(batch * space)),
    )  # fmt: skip
    emitter.written.update(view.root for view in takers.values())
    return True


def _scale(emitter: Emitter, weight: View | None, rstd: View) -> View:
    """What elements of each channel are multiplied by."""
    if weight is None:
        return rstd
    scale = emitter.temporary(rstd.shape)
    loop_over(emitter, [lambda w, r: w * r], rstd.shape, [weight, rstd], [scale])
    return scale


def _scaled(emitter: Emitter, x: View, mean: Any, scale: View, shift: Any, out: View) -> None:
    """(x - mean) * scale + shift, where each channel has its own."""
    batch, count = x.shape[:2]
    space = x.size // (batch * count)
    if space == 1:
        emitter.call(
            norm.scaled_columns.f32, x, mean, scale, shift, out, count, total=batch,
            chunk=rows_of(count),
        )  # fmt: skip
        return
    emitter.call(
        norm.scaled_planes.f32, x, mean, scale, shift, out, count, space, total=batch * count,
        chunk=rows_of(space),
    )  # fmt: skip


def running_mean(emitter: Emitter, instruction: Instruction) -> bool:
    """Moved towards that of the batch."""
    return _moved(emitter, instruction, 1.0)


def running_var(emitter: Emitter, instruction: Instruction) -> bool:
    """Moved towards the unbiased one of the batch."""
    size = params_of(instruction)["plan"].size
    return _moved(emitter, instruction, size / max(size - 1, 1))


def _moved(emitter: Emitter, instruction: Instruction, unbiased: float) -> bool:
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    momentum = params_of(instruction)["momentum"]
    if views is None or type(momentum) is not float:
        return False
    running, statistic, out = views
    now = statistic.as_shape(running.shape)
    if now is None:
        return False
    kept, moved, scale = (np.float32(v) for v in (1 - momentum, momentum, unbiased))
    functions = [lambda old, new: old * kept + moved * (scale * new)]
    return loop_over(emitter, functions, out.shape, [running, now], [out])
