"""Products of matrices as kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wengert.kernels.products import gemm, packed
from wengert.replay.emitting import F32, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import unbroadcast


def _call(
    emitter: Emitter, factors: packed.Factors, a: View, b: View, out: View, bias: View | None,
    add: bool = False,
) -> None:  # fmt: skip
    plan = packed.plan(factors, emitter.threads)
    scratch = emitter.temporary([plan.scratch])
    busy = np.zeros(plan.slots, np.int64)
    emitter.call(
        packed.product_kernel.f32, a, b, out, bias, scratch, busy, plan.slots, int(add), plan.sizes,
        total=plan.tasks, chunk=plan.chunk,
    )  # fmt: skip


def _product(emitter: Emitter, a: View, b: View, out: int, bias: View | None = None) -> bool:
    """A product of matrices."""
    target = emitter.view(out)
    if target is None or target.dtype != F32:
        return False
    (m, k), (inner, n) = a.shape, b.shape
    if k != inner or not k or not m or not n or target.size != m * n:
        return False
    if bias is not None and not (bias.shape == (n,) and (bias.strides == (1,) or n == 1)):
        return False
    _call(emitter, packed.Factors(m, n, k, *a.strides, *b.strides), a, b, target, bias)
    return True


def _batched(emitter: Emitter, a: View, b: View, out: int) -> bool:
    """Products of matrices, whose leading dimensions broadcast to those of the result."""
    target = emitter.view(out)
    return target is not None and target.dtype == F32 and batched(emitter, a, b, target)


def batched(emitter: Emitter, a: View, b: View, target: View, add: bool = False) -> bool:
    """Products of matrices to a dense view, or added to what is there."""
    if not target.size:
        return False
    batch = gemm.batch_of(a.shape, a.strides, b.shape, b.strides, 1)
    (m, k), (inner, n) = a.shape[-2:], b.shape[-2:]
    if batch is None or k != inner or not k or target.shape != (*batch.shape, m, n):
        return False
    a0, a1, b0, b1 = batch.strides
    factors = packed.Factors(
        m,
        n,
        k,
        a.strides[-2],
        a.strides[-1],
        b.strides[-2],
        b.strides[-1],
        batch.size,
        batch.inner,
        a0,
        a1,
        b0,
        b1,
    )
    _call(emitter, factors, a, b, target, None, add)
    return True


def _pair(emitter: Emitter, instruction: Instruction) -> list[View] | None:
    """The first two operands, if they have matrices or vectors."""
    views = emitter.seen(instruction.inputs[:2])
    if views is None or len(views) != 2 or not all(v.shape for v in views):
        return None
    return views


def _rows(emitter: Emitter, view: View) -> View:
    """The last dimension, and all before it as one; a vector is a row."""
    if len(view.shape) == 1:
        return view.row
    return view.as_matrix() or dense_of(emitter, view).as_matrix() or view


def linear(emitter: Emitter, instruction: Instruction) -> bool:
    """Rows times a transposed weight, and a bias."""
    views, bias = _pair(emitter, instruction), emitter.seen(instruction.inputs[2:])
    if views is None or bias is None or len(views[1].shape) != 2:
        return False
    (out,) = instruction.outputs
    rows, weight = _rows(emitter, views[0]), views[1]
    return _product(emitter, rows, weight.turned, out, bias[0] if bias else None)


def linear_input(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of rows: that of results times the weight."""
    views = _pair(emitter, instruction)
    if views is None or len(views[1].shape) != 2:
        return False
    return _product(emitter, _rows(emitter, views[0]), views[1], instruction.outputs[0])


def linear_weight(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a weight, from that of results and the rows."""
    return _over_rows(emitter, _pair(emitter, instruction), instruction.outputs[0])


def _column(emitter: Emitter, view: View) -> View:
    """All elements as a column."""
    dense, shape = dense_of(emitter, view), (view.size,)
    return dense._replace(shape=shape, strides=(1,)).row.turned


def _over_rows(emitter: Emitter, views: list[View] | None, out: int) -> bool:
    """The transposed first matrix times the second, over all rows of both."""
    if views is None or len(emitter.type_of(out).shape) != 2:
        return False
    a, b = (_rows(emitter, v) for v in views)
    return _product(emitter, a.turned, b, out)


def matmul(emitter: Emitter, instruction: Instruction) -> bool:
    """Products of the last two dimensions."""
    views = _pair(emitter, instruction)
    if views is None:
        return False
    a, b = views
    (out,) = instruction.outputs
    if len(b.shape) <= 2:
        matrix = b if len(b.shape) == 2 else b.row.turned
        return _product(emitter, _rows(emitter, a), matrix, out)
    return len(a.shape) > 1 and _batched(emitter, a, b, out)


def outer(emitter: Emitter, instruction: Instruction) -> bool:
    """Products of each element of one vector with each of another."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 3 or not views[2].size:
        return False
    a, b, out = views
    return loop_over(emitter, [lambda x, y: x * y], out.shape, [a.row.turned, b.row], [out])


def baddbmm(emitter: Emitter, instruction: Instruction) -> bool:
    """Products of matrices, and what is added to them."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 4 or not _is_plain(instruction):
        return False
    more, a, b, out = views
    products = emitter.temporary(out.shape)
    return batched(emitter, a, b, products) and loop_over(
        emitter, [lambda x, y: x + y], out.shape, [more, products], [out]
    )


def scaled(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of one factor of a product of vectors: the other one, by a number."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 3 or not views[2].size:
        return False
    g, other, out = views
    return loop_over(emitter, [lambda g, x: g * x], out.shape, [g, other], [out])


def addmm(emitter: Emitter, instruction: Instruction) -> bool:
    """A product of matrices, plus a vector in each row."""
    views = emitter.seen(instruction.inputs)
    if views is None or len(views) != 3 or not _is_plain(instruction):
        return False
    bias, a, b = views
    return _product(emitter, a, b, instruction.outputs[0], bias)


def _is_plain(instruction: Instruction) -> bool:
    """Whether neither the product nor what is added is scaled."""
    params = params_of(instruction)
    return bool(params["alpha"] == 1 and params["beta"] == 1)


def addmm_input(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what is added."""
    return _is_plain(instruction) and unbroadcast(emitter, instruction)


def addmm_left(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the left factor."""
    return _is_plain(instruction) and matmul_left(emitter, instruction)


def addmm_right(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the right factor."""
    return _is_plain(instruction) and matmul_right(emitter, instruction)


def swapped(form: Callable[[Emitter, Instruction], bool]) -> Callable[[Emitter, Instruction], bool]:
    """A form whose operands come in the other order."""

    def swap(emitter: Emitter, instruction: Instruction) -> bool:
        first, second, *rest = instruction.inputs
        return form(emitter, replace(instruction, inputs=(second, first, *rest)))

    return swap


def matmul_left(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the left factor, from that of products and the right one."""
    views = _pair(emitter, instruction)
    (out,) = instruction.outputs
    if views is None:
        return False
    g, b = views
    if len(b.shape) == 1:
        return _product(emitter, _column(emitter, g), b.row, out)
    if len(b.shape) == 2:
        return _product(emitter, _rows(emitter, g), b.turned, out)
    return len(g.shape) > 1 and _batched(emitter, g, b.turned, out)


def matmul_right(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the right factor, from that of products and the left one."""
    views = _pair(emitter, instruction)
    (out,) = instruction.outputs
    if views is None:
        return False
    g, a = views
    rank = len(emitter.type_of(out).shape)
    if rank == 1 and a.shape[:-1] == g.shape:
        return _product(emitter, _rows(emitter, a).turned, _column(emitter, g), out)
    if rank == 2 and a.shape[:-1] == g.shape[:-1]:
        return _over_rows(emitter, [a, g], out)
    return min(len(a.shape), len(g.shape)) > 1 and _batched(emitter, a.turned, g, out)
