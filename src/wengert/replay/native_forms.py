"""How instructions are computed by kernels, by what they compute.

Each function adds the calls for an instruction to an `Emitter`, and says whether there are any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from wengert.kernels import copies
from wengert.kernels.axes import axes_of
from wengert.kernels.chunks import rows_of
from wengert.kernels.classification import native as classification
from wengert.kernels.products import packed
from wengert.kernels.reduction import native as reduction
from wengert.replay.channel_forms import (
    batch_norm,
    batch_norm_back,
    running_mean,
    running_var,
)
from wengert.replay.emitting import BOOL, F32, I64, Emitter, View, dense
from wengert.replay.fusion import FusedLoop
from wengert.replay.ir import Instruction, Type
from wengert.replay.loop_forms import elementwise, fill, loop_over
from wengert.replay.row_forms import (
    layer_norm,
    layer_norm_back,
    log_softmax_back,
    log_softmax_form,
    params_of,
    softmax_back,
    softmax_form,
    taken_form,
)
from wengert.replay.trace import OpEntry
from wengert.replay.window_forms import (
    channel_sums,
    convolution,
    convolution_input,
    convolution_weight,
    transposed,
    transposed_input,
    transposed_weight,
)

Form = Callable[[Emitter, Instruction], bool]


def lower(emitter: Emitter, instruction: Instruction) -> bool:
    """Add the calls for an instruction; False, and nothing, if kernels cannot compute it."""
    form = _form_of(instruction)
    if form is None:
        return False
    before = len(emitter.calls)
    if form(emitter, instruction):
        return True
    del emitter.calls[before:]
    return False


def _form_of(instruction: Instruction) -> Form | None:
    if isinstance(instruction.compute, FusedLoop) or instruction.pointwise is not None:
        return elementwise
    name = instruction.name
    if name in _BY_NAME:
        return _BY_NAME[name]
    key = instruction.key
    if key and (type(key[0]) is str or type(key[0]) is tuple) and key[0] in _BY_KEY:
        return _BY_KEY[key[0]]
    return _view if is_view(instruction) else None


def is_view(instruction: Instruction) -> bool:
    """Whether results show the memory of the one operand, and nothing is computed."""
    if instruction.name in ("rows", "element") or _is_reshaped(instruction):
        return True
    entry, key = instruction.entry, instruction.key
    if not isinstance(entry, OpEntry) or len(instruction.inputs) != 1 or not key:
        return False
    return bool(entry.op.view) and type(key[0]) is str


def _is_reshaped(instruction: Instruction) -> bool:
    key = instruction.key
    return bool(key) and key[0] in _RESHAPES


_RESHAPES = frozenset((name, "input") for name in ("reshape", "view", "flatten"))


# Views


def _view(emitter: Emitter, instruction: Instruction) -> bool:
    """What the instruction does to an array in the same place."""
    source = emitter.view(instruction.inputs[0])
    if source is None or source.dtype not in (F32, BOOL, I64) or not source.size:
        return False
    if any(s < 0 for s in source.strides):
        return False
    each = source.dtype.itemsize
    last = sum((n - 1) * s for n, s in zip(source.shape, source.strides, strict=True))
    memory = np.empty(last + 1, source.dtype)
    strides = [s * each for s in source.strides]
    array = np.ndarray(source.shape, source.dtype, memory, 0, strides)
    found = instruction.compute(array)
    results = found if instruction.unpacked else [found]
    start = _address(memory)
    views = []
    for result in results:
        where = _address(result) - start
        inside = 0 <= where < memory.nbytes and np.may_share_memory(result, memory)
        if not inside or result.dtype != source.dtype or any(s % each for s in result.strides):
            return False
        steps = tuple([s // each for s in result.strides])
        offset = source.offset + where // each
        views.append(View(source.root, offset, result.shape, steps, source.dtype))
    for v, one in zip(instruction.outputs, views, strict=True):
        if emitter.type_of(v).shape != one.shape:
            return False
        emitter.views[v] = one
    return True


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _reshaped(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a reshape, whose elements lie where they are."""
    source = emitter.view(instruction.inputs[0])
    (out,) = instruction.outputs
    seen = None if source is None else source.as_shape(emitter.type_of(out).shape)
    if seen is None or seen.dtype != F32 or not seen.size:
        return False
    emitter.views[out] = seen
    return True


# Products


def _product(
    emitter: Emitter, a: View, b: View, out: int, bias: View | None = None, turned: str = ""
) -> bool:
    """A product of matrices; those named in `turned` are passed transposed."""
    target = emitter.view(out)
    if target is None or target.dtype != F32:
        return False
    (m, k), (a_row, a_column) = a.shape, a.strides
    (inner, n), (b_row, b_column) = b.shape, b.strides
    if "a" in turned:
        m, k, a_row, a_column = k, m, a_column, a_row
    if "b" in turned:
        inner, n, b_row, b_column = n, inner, b_column, b_row
    if k != inner or not k or not m or not n or target.size != m * n:
        return False
    if bias is not None and not (bias.shape == (n,) and (bias.strides == (1,) or n == 1)):
        return False
    factors = packed.Factors(m, n, k, a_row, a_column, b_row, b_column)
    plan = packed.plan(factors, emitter.threads)
    scratch = emitter.temporary([plan.scratch])
    busy = np.zeros(plan.slots, np.int64)
    emitter.call(
        packed.product_kernel.f32, a, b, target, bias, scratch, busy, plan.slots, 0, plan.sizes,
        total=plan.tasks, chunk=plan.chunk,
    )  # fmt: skip
    return True


def _matrices(emitter: Emitter, values: tuple[int, ...]) -> tuple[View, View] | None:
    views = emitter.seen(values)
    if views is None or len(views) != 2:
        return None
    a, b = (v.as_matrix() for v in views)
    return None if a is None or b is None else (a, b)


def _linear(emitter: Emitter, instruction: Instruction) -> bool:
    pair = _matrices(emitter, instruction.inputs[:2])
    bias = emitter.seen(instruction.inputs[2:])
    if pair is None or bias is None or len(emitter.type_of(instruction.inputs[1]).shape) != 2:
        return False
    (out,) = instruction.outputs
    return _product(emitter, *pair, out, bias[0] if bias else None, "b")


def _linear_input(emitter: Emitter, instruction: Instruction) -> bool:
    pair = _matrices(emitter, instruction.inputs)
    if pair is None or len(emitter.type_of(instruction.inputs[1]).shape) != 2:
        return False
    return _product(emitter, *pair, instruction.outputs[0])


def _linear_weight(emitter: Emitter, instruction: Instruction) -> bool:
    pair = _matrices(emitter, instruction.inputs[:2])
    if pair is None or len(emitter.type_of(instruction.outputs[0]).shape) != 2:
        return False
    return _product(emitter, *pair, instruction.outputs[0], turned="a")


def _matmul(emitter: Emitter, instruction: Instruction) -> bool:
    pair = _matrices(emitter, instruction.inputs)
    if pair is None or any(len(emitter.type_of(v).shape) != 2 for v in instruction.inputs):
        return False
    return _product(emitter, *pair, instruction.outputs[0])


# Sums


def _sum_into(emitter: Emitter, source: View, out: View, first: int, last: int) -> bool:
    """The sums over the dimensions from `first` up to `last` of dense elements."""
    if not source.is_dense or not source.size:
        return False
    shape = source.shape
    outer, n, inner = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
    if inner == 1:
        while outer == 1 and n >= 1 << 16 and n % 1024 == 0:  # in parts, for several threads
            parts = emitter.temporary([n // 1024])
            emitter.call(reduction.row_sums.f32, source, parts, 1024, total=n // 1024, chunk=64)
            source, n = parts, n // 1024
        emitter.call(reduction.row_sums.f32, source, out, n, total=outer, chunk=rows_of(n))
        return True
    blocks = -(-inner // reduction.LANES)
    emitter.call(
        reduction.middle_sums.f32, source, out, n, inner, blocks, total=outer * blocks,
        chunk=max(1, rows_of(n * min(inner, reduction.LANES))),
    )  # fmt: skip
    return True


def _rows(emitter: Emitter, instruction: Instruction) -> bool:
    """What a value was broadcast from: the sum over the dimensions that were repeated."""
    (source,) = emitter.seen(instruction.inputs[:1]) or (None,)
    out = emitter.view(instruction.outputs[0])
    if source is None or out is None or out.dtype != F32:
        return False
    shape, target = source.shape, (1,) * (len(source.shape) - len(out.shape)) + out.shape
    repeated = [d for d in range(len(shape)) if target[d] == 1 and shape[d] != 1]
    if not repeated or len(target) != len(shape):
        return False
    first, last = repeated[0], repeated[-1] + 1
    if any(shape[d] != 1 and d not in repeated for d in range(first, last)):
        return False
    return _sum_into(emitter, source, out, first, last)


def _span(instruction: Instruction, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """The dimensions that a sum goes over, if they are beside each other."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    axes = axes_of(entry.params.get("dim"), len(shape))
    if axes is None:
        return 0, len(shape)
    axes = tuple(sorted(axes))
    if not axes or axes != tuple(range(axes[0], axes[-1] + 1)):
        return None
    return axes[0], axes[-1] + 1


def _sum(emitter: Emitter, instruction: Instruction, mean: bool = False) -> bool:
    (source,) = emitter.seen(instruction.inputs) or (None,)
    out = emitter.view(instruction.outputs[0])
    if source is None or out is None or out.dtype != F32:
        return False
    span = _span(instruction, source.shape)
    if span is None:
        return False
    if not mean:
        return _sum_into(emitter, source, out, *span)
    total = dense(emitter.temporary(out.shape).root, out.shape, F32)
    if not _sum_into(emitter, source, total, *span):
        return False
    count = np.float32(prod(source.shape[span[0] : span[1]]))
    return loop_over(emitter, [lambda x: x / count], out.shape, [total], [out])


def _mean(emitter: Emitter, instruction: Instruction) -> bool:
    return _sum(emitter, instruction, mean=True)


def _sum_back(emitter: Emitter, instruction: Instruction) -> bool:
    shape = emitter.type_of(instruction.outputs[0]).shape
    span = _span(instruction, shape)
    return span == (0, len(shape)) and fill(emitter, instruction, 1)


def _mean_back(emitter: Emitter, instruction: Instruction) -> bool:
    shape = emitter.type_of(instruction.outputs[0]).shape
    span = _span(instruction, shape)
    return span == (0, len(shape)) and fill(emitter, instruction, prod(shape))


# Rows side by side


def _join(emitter: Emitter, instruction: Instruction) -> bool:
    """Rows of several values, one after another."""
    views = emitter.seen(instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if views is None or out is None or not all(v.is_dense for v in views):
        return False
    offset = 0
    for v in views:
        part = out._replace(offset=out.offset + offset)
        emitter.call(
            copies.copy_rows.f32, v, part, v.size, v.size, v.size, total=1, chunk=1
        )  # fmt: skip
        offset += v.size
    return True


def _split_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of all parts of an array, in their places."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    views = emitter.seen(instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    sizes, dim = entry.params["p0"], entry.params["p1"]
    if views is None or out is None or len(views) != len(sizes) or not out.size:
        return False
    axis = dim % len(out.shape)
    outer, inner = prod(out.shape[:axis]), prod(out.shape[axis + 1 :])
    offset = 0
    for v, n in zip(views, sizes, strict=True):
        if not v.is_dense or v.shape != (*out.shape[:axis], n, *out.shape[axis + 1 :]):
            return False
        part, width = out._replace(offset=out.offset + offset), n * inner
        emitter.call(
            copies.copy_rows.f32, v, part, width, out.shape[axis] * inner, width, total=outer,
            chunk=rows_of(width),
        )  # fmt: skip
        offset += width
    return True


# Cross entropy


def _cross_entropy(emitter: Emitter, instruction: Instruction) -> bool:
    found = _losses(emitter, instruction, instruction.inputs)
    if found is None:
        return False
    x, index, share, step, smoothing = found
    emitter.program.types[instruction.outputs[1]] = Type((2, *index.shape, 1), F32)
    logs = emitter.view(instruction.outputs[1])
    out = emitter.view(instruction.outputs[0])
    assert logs is not None
    assert out is not None
    reduced = params_of(instruction)["reduced"]
    loss = emitter.temporary(index.shape) if reduced else out
    width, count = x.shape[-1], index.size
    emitter.call(
        classification.cross_entropy.f32, x, index, share, step, smoothing, loss, logs,
        logs._replace(offset=count), width, total=count, chunk=rows_of(width),
    )  # fmt: skip
    return not reduced or _sum_into(emitter, loss, out, 0, len(index.shape))


def _cross_entropy_back(emitter: Emitter, instruction: Instruction) -> bool:
    g_value, *others, logs_value = instruction.inputs
    found = _losses(emitter, instruction, tuple(others))
    logs = emitter.views.get(logs_value)
    (g,) = emitter.seen([g_value]) or (None,)
    out = emitter.view(instruction.outputs[0])
    if found is None or logs is None or g is None or out is None:
        return False
    x, index, share, _, smoothing = found
    shape = np.broadcast_shapes(g.shape, share.shape)
    if shape not in ((), index.shape):
        return False
    scale = emitter.temporary(shape)
    if not loop_over(emitter, [lambda a, b: a * b], shape, [g, share], [scale]):
        return False
    width, count = x.shape[-1], index.size
    emitter.call(
        classification.cross_entropy_gradient.f32, x, index, scale, min(len(shape), 1), smoothing,
        logs, logs._replace(offset=logs.offset + count), out, width, total=count,
        chunk=rows_of(width),
    )  # fmt: skip
    return True


def _losses(
    emitter: Emitter, instruction: Instruction, values: tuple[int, ...]
) -> tuple[View, View, View, int, float] | None:
    """Scores, indices, shares with their step, and smoothing; classes have to be the last axis."""
    params = params_of(instruction)
    if len(values) != 3:
        return None
    x, index, share = (emitter.view(v) for v in values)
    if x is None or index is None or share is None:
        return None
    if not x.size or not x.is_dense or not index.is_dense or not share.is_dense:
        return None
    if (x.dtype, index.dtype, share.dtype) != (F32, I64, F32) or x.shape[:-1] != index.shape:
        return None
    if share.shape not in ((), index.shape) or params["axis"] % len(x.shape) != len(x.shape) - 1:
        return None
    smoothing = params["smoothing"]
    if not math.isfinite(smoothing):
        return None
    return x, index, share, min(len(share.shape), 1), float(smoothing)


_NORMALISED = "input", "weight", "bias"
_BY_NAME: dict[str, Form] = {
    "join": _join,
    "joint_linear": _linear,
    "joint_weight": _linear_weight,
    "joint_rows": _rows,
    "sum_to": _rows,
    "split_backward": _split_back,
}
_BY_KEY: dict[Any, Form] = {
    "linear": _linear,
    ("linear", "input"): _linear_input,
    ("linear", "weight"): _linear_weight,
    ("linear", "bias"): _rows,
    "matmul": _matmul,
    "mm": _matmul,
    "sum_over": _sum,
    ("sum_over", "input"): _sum_back,
    "mean_over": _mean,
    ("mean_over", "input"): _mean_back,
    "_cross_entropy": _cross_entropy,
    ("_cross_entropy", "input"): _cross_entropy_back,
    "_softmax": softmax_form,
    ("_softmax", "input"): softmax_back,
    "_log_softmax": log_softmax_form,
    ("_log_softmax", "input"): log_softmax_back,
    "_layer_norm": layer_norm,
    ("_layer_norm", "shared"): layer_norm_back,
    "_batch_norm": batch_norm,
    ("_batch_norm", "shared"): batch_norm_back,
    ("_batch_norm", "running_mean"): running_mean,
    ("_batch_norm", "running_var"): running_var,
    "_convolution": convolution,
    ("_convolution", "input"): convolution_input,
    ("_convolution", "weight"): convolution_weight,
    ("_convolution", "bias"): channel_sums,
    "_transposed_convolution": transposed,
    ("_transposed_convolution", "input"): transposed_input,
    ("_transposed_convolution", "weight"): transposed_weight,
    ("_transposed_convolution", "bias"): channel_sums,
    **dict.fromkeys(product(("_layer_norm", "_batch_norm"), _NORMALISED), taken_form),
    **dict.fromkeys(_RESHAPES, _reshaped),
}
