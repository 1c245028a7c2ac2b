"""Elementwise loops as kernels."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from wengert.kernels import copies
from wengert.kernels.halves import kernel_of
from wengert.kernels.jit import CHUNK, operands
from wengert.kernels.jit.tracing import COLUMN, FLAT, ROW, letter_of
from wengert.kernels.precision import HALF
from wengert.replay.emitting import BOOL, F32, Emitter, Scalar, View
from wengert.replay.forwards import pointwise_of
from wengert.replay.fusion import SHORT, FusedLoop, loops_give
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of


def elementwise(emitter: Emitter, instruction: Instruction) -> bool:
    """A loop over all elements of the results, in their order."""
    loop = instruction.compute
    if not isinstance(loop, FusedLoop):
        pointwise = instruction.pointwise or pointwise_of(instruction)
        alone = replace(instruction, pointwise=pointwise)
        loop = FusedLoop([alone], instruction.inputs, instruction.outputs)
    shape = emitter.type_of(instruction.outputs[0]).shape
    outputs = [emitter.view(v) for v in instruction.outputs]
    inputs = [emitter.view(v) for v in instruction.inputs]
    total = prod(shape)
    if not total or any(v is None or not loops_give(v.dtype) for v in (*inputs, *outputs)):
        return False
    return loop_over(
        emitter, loop.functions(), shape, [v for v in inputs if v is not None],
        [v for v in outputs if v is not None], loop.identity(),
    )  # fmt: skip


def loop_over(
    emitter: Emitter, functions: list[Any], shape: tuple[int, ...], inputs: list[View],
    outputs: list[View], identity: Any = None,
) -> bool:  # fmt: skip
    """Functions of elements, of views that broadcast to a shape; results are dense.

    Those with one `identity` compute the same.
    """
    if _loop_over(emitter, functions, shape, inputs, outputs, identity):
        return True
    # Loops go through few dimensions, and inputs in their order.
    dense = [dense_of(emitter, v) if v.dtype != BOOL else v for v in inputs]
    return dense != inputs and _loop_over(emitter, functions, shape, dense, outputs, identity)


def _loop_over(
    emitter: Emitter, functions: list[Any], shape: tuple[int, ...], inputs: list[View],
    outputs: list[View], identity: Any,
) -> bool:  # fmt: skip
    steps = [(0,) * (len(shape) - len(v.shape)) + spread(v) for v in inputs]
    lengths, merged = operands.merged(shape, tuple(range(len(shape))), steps)
    total = prod(shape)
    flat = len(lengths) <= 1
    if len(lengths) > 4 or total >= 1 << 31:
        return False
    letters, strides = "", list[int]()
    for view, of_view in zip(inputs, merged or [()] * len(inputs), strict=True):
        own = (0, 0, 0, *of_view)[-4:] if total > 1 else (0, 0, 0, 1)
        if not any(own) and view.dtype != BOOL:
            letters += "s"
            continue
        if own[-1] not in (0, 1) or (flat and not own[-1]):
            return False
        letters += letter_of(view.dtype, FLAT if flat else ROW if own[-1] else COLUMN)
        strides += [] if flat else own[:3]
    short = (total if flat else lengths[-1]) <= SHORT
    plan = _plan_of(functions, letters, short, identity)
    if plan is None or any(plan.passed) or plan.numbers:
        return False
    if [v.dtype for v in outputs] != [*plan.outputs]:
        return False
    arguments = [
        scalar(emitter, v) if letter == "s" else v
        for v, letter in zip(inputs, letters, strict=True)
    ]
    if flat:
        emitter.call(plan.kernel, *arguments, *outputs, total=total, chunk=plan.chunk)
    else:
        sizes = (1, *lengths)[-3:]
        width = sizes[-1]
        emitter.call(
            plan.kernel, *arguments, *outputs, *strides, *sizes, total=total // width,
            chunk=max(1, plan.chunk // width),
        )  # fmt: skip
    return True


def scalar(emitter: Emitter, view: View) -> Scalar:
    """The only element that a view shows, as a number of float32."""
    if view.dtype in HALF:
        number = emitter.temporary(())
        emitter.call(kernel_of(view.dtype, F32), view, number, total=1, chunk=1)
        return Scalar(number)
    return Scalar(view)


# The plans of loops that have been asked for, by what they compute; the oldest go first.
_plans: dict[Any, Any] = {}
_MOST = 1024


def _plan_of(functions: list[Any], letters: str, short: bool, identity: Any) -> Any:
    """As `operands.plan_of`: the loops of layers, or of time steps, are written down once."""
    if identity is None:
        return operands.plan_of(functions, letters, False, short, True)
    key = identity, letters, short
    if key not in _plans:
        made = operands.plan_of(functions, letters, False, short, True)
        while len(_plans) >= _MOST:
            _plans.pop(next(iter(_plans)), None)
        _plans[key] = made
    return _plans[key]


def spread(view: View) -> tuple[int, ...]:
    """The strides, 0 where there is one element."""
    return tuple([0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True)])


def fill(emitter: Emitter, instruction: Instruction, divisor: int) -> bool:
    """One element everywhere: the gradient of a sum or mean of all elements."""
    (source,) = emitter.seen(instruction.inputs[:1]) or (None,)
    out = emitter.view(instruction.outputs[0])
    if source is None or out is None or source.size != 1 or out.dtype != F32 or not out.size:
        return False
    kernel = copies.fill.f32
    emitter.call(kernel, source, 1.0 / divisor, out, total=out.size, chunk=CHUNK)
    return True
