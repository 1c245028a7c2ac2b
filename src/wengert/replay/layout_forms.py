"""Views and copies as kernels: where elements lie, and bringing them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.kernels import blocks, copies, transposition
from wengert.kernels.chunks import rows_of
from wengert.kernels.jit import CHUNK, operands
from wengert.kernels.precision import HALF
from wengert.replay.emitting import ELEMENTS, F32, I64, Emitter, View
from wengert.replay.forwards import view_of
from wengert.replay.ir import Instruction
from wengert.replay.trace import OpEntry

# Gradients of these lie as the elements of a reshaped array.
RESHAPES = frozenset(
    (name, "input") for name in ("reshape", "view", "flatten", "squeeze", "unsqueeze")
)


# Elements in a row so few that to begin it takes longer than to copy it.
_SHORT = 8


def is_view(instruction: Instruction) -> bool:
    """Whether results show the memory of the one operand, if that lies as it may."""
    if instruction.name == "again":
        return True
    if instruction.name in ("rows", "element", "cat_backward", "stack_backward"):
        return len(instruction.inputs) == 1
    entry, key = instruction.entry, instruction.key
    if key and key[0] in RESHAPES:
        return True
    if not isinstance(entry, OpEntry) or len(instruction.inputs) != 1 or not key:
        return False
    return bool(entry.op.view) and type(key[0]) is str


def view(emitter: Emitter, instruction: Instruction) -> bool:
    """What the instruction does to an array in the same place; a reshape may have to copy."""
    source = emitter.view(instruction.inputs[0])
    if source is None or source.dtype not in ELEMENTS | {I64} or not source.size:
        return False
    results = shown(source, instruction.compute)
    if results is None:
        key = instruction.key
        return (
            bool(key) and key[0] in ("reshape", "view", "flatten") and copied(emitter, instruction)
        )
    for v, one in zip(instruction.outputs, results, strict=True):
        if emitter.type_of(v).shape != one.shape:
            return False
    emitter.views.update(zip(instruction.outputs, results, strict=True))
    return True


def same(emitter: Emitter, instruction: Instruction) -> bool:
    """What shows the memory of its first operand, as soon as the others are there."""
    source = emitter.view(instruction.inputs[0])
    if source is not None:
        emitter.views[instruction.outputs[0]] = source
    return source is not None


def shown(source: View, function: Callable[[np.ndarray], Any]) -> list[View] | None:
    """What a function of an array gives, as views of its memory; None if it gives no views."""
    if any(s < 0 for s in source.strides):
        return None
    each = source.dtype.itemsize
    last = sum((n - 1) * s for n, s in zip(source.shape, source.strides, strict=True))
    memory = np.empty(last + 1, source.dtype)
    strides = [s * each for s in source.strides]
    array = np.ndarray(source.shape, source.dtype, memory, 0, strides)
    try:
        found = function(array)
    except RuntimeError:  # `view`, of elements that lie in another order than in eager mode
        return None
    start, views = _address(memory), list[View]()
    for result in found if isinstance(found, tuple | list) else [found]:
        where = _address(result) - start
        inside = 0 <= where < memory.nbytes and np.may_share_memory(result, memory)
        if not inside or result.dtype != source.dtype or any(s % each for s in result.strides):
            return None
        steps = tuple([s // each for s in result.strides])
        if any(s < 0 for s in steps):
            return None
        offset = source.offset + where // each
        views.append(View(source.root, offset, result.shape, steps, source.dtype))
    return views


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


# Copies


def copy(emitter: Emitter, source: View, out: View) -> None:
    """Copy elements to a view of the same shape."""
    shape, halves = source.shape, source.dtype in HALF
    rows_kernel, dims_kernel = (
        (copies.copy_rows.u16, copies.copy_dims.u16)
        if halves
        else (copies.copy_rows.f32, copies.copy_dims.f32)
    )
    lengths, strides = operands.merged(
        shape, tuple(range(len(shape))), [source.strides, out.strides]
    )
    steps, to_steps = strides or [(), ()]
    if len(lengths) <= 1 and {*steps, *to_steps} <= {1}:
        width = min(source.size, CHUNK)
        while source.size % width:
            width -= 1
        lengths, steps, to_steps = [source.size // width, width], (width, 1), (width, 1)
    rows, width = prod(lengths[:-1]), lengths[-1]
    if len(lengths) == 2 and steps[-1] == to_steps[-1] == 1:
        emitter.call(
            rows_kernel, source, out, steps[0], to_steps[0], width, total=rows,
            chunk=rows_of(width),
        )  # fmt: skip
        return
    turned = transposition.matrices_of(source.dtype.itemsize, lengths, to_steps, steps)
    if turned is not None:
        emitter.call(
            transposition.transpose.f32, source, out, *turned.numbers, total=turned.tasks,
            chunk=turned.chunk,
        )  # fmt: skip
        return
    order = _by_rows(lengths, steps, to_steps)
    sizes, x_steps, out_steps = (
        np.array([v[d] for d in order], np.int64) for v in (lengths, steps, to_steps)
    )
    width = int(sizes[-1])
    emitter.call(
        dims_kernel, source, out, sizes, x_steps, out_steps, len(lengths),
        total=source.size // width, chunk=rows_of(width),
    )  # fmt: skip


def _by_rows(lengths: Sequence[int], steps: Sequence[int], to_steps: Sequence[int]) -> list[int]:
    """The dimensions in an order in which the last one is long: of neighbours, on one side."""
    order = [*range(len(lengths))]
    if order and lengths[-1] < _SHORT:
        near = [d for d in order if 1 in (steps[d], to_steps[d])]
        longest = max(near, key=lambda d: lengths[d], default=order[-1])
        order.append(order.pop(longest))
    return order


def dense_of(emitter: Emitter, source: View) -> View:
    """The elements in the order of the dimensions; a copy, if they lie in another."""
    if source.is_dense or not source.size:
        return source
    out = emitter.temporary(source.shape, source.dtype)
    copy(emitter, source, out)
    return out


def pair_of(emitter: Emitter, instruction: Instruction) -> tuple[View, View] | None:
    """The views of the first operand and of the only result, if they are of float32."""
    views = emitter.seen((*instruction.inputs[:1], *instruction.outputs))
    if views is None or len(views) != 2 or not all(v.size for v in views):
        return None
    return views[0], views[1]


def dense_views(emitter: Emitter, instruction: Instruction, count: int) -> list[View] | None:
    """So many operands and results of float32, in the order of their dimensions."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != count or not all(v.size and v.shape for v in views):
        return None
    return [dense_of(emitter, v) for v in views]


def copied(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements of the operand in their order, in memory of their own."""
    views = emitter.alike((instruction.inputs[0], instruction.outputs[0]))
    if views is None or len(instruction.outputs) > 1:
        return False
    source, out = views
    target = out.as_shape(source.shape)
    if target is None or source.size != out.size or not source.size:
        return False
    copy(emitter, source, target)
    return True


def reshaped(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a reshape: the elements where they are, if they lie in order."""
    source = emitter.view(instruction.inputs[0])
    (out,) = instruction.outputs
    seen = None if source is None else source.as_shape(emitter.type_of(out).shape)
    if seen is None:
        return copied(emitter, instruction)
    if seen.dtype not in ELEMENTS or not seen.size:
        return False
    emitter.views[out] = seen
    return True


def clear(emitter: Emitter, out: View) -> None:
    """Zeros everywhere."""
    kernel = copies.fill.brain if out.dtype in HALF else copies.fill.f32  # all zeros are alike
    emitter.call(kernel, np.zeros(1, np.float32), 0.0, out, total=out.size, chunk=CHUNK)


def fill_with(emitter: Emitter, number: Any, out: View) -> None:
    """A number of float32 everywhere."""
    emitter.call(
        copies.fill.f32, np.array([number], F32), 1.0, out, total=out.size, chunk=CHUNK
    )  # fmt: skip


def triangle(upper: bool, emitter: Emitter, instruction: Instruction) -> bool:
    """One triangle of each matrix, and zeros; of a gradient the same one."""
    views, entry = dense_views(emitter, instruction, 2), instruction.entry
    assert isinstance(entry, OpEntry)
    if views is None:
        return False
    x, out = views
    blocks.call_triangles(emitter, x, out, entry.params["diagonal"], upper)
    return True


# Parts


def part_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what shows a part of an array, or all of it: there, and zeros elsewhere."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    return _parts_back(emitter, instruction, lambda array: view_of(entry, array), [0])


def several_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of the parts of an array, in their places; zeros for parts without one."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    compute: Any = instruction.compute
    given = [t if type(t) is int else None for t in compute.args[2]]
    return _parts_back(emitter, instruction, lambda array: view_of(entry, array), given)


def _parts_back(
    emitter: Emitter, instruction: Instruction, parts: Callable[[np.ndarray], Any],
    given: list[int | None],
) -> bool:  # fmt: skip
    """Copies of operands into parts of the result; `given` says of each part which operand."""
    views = emitter.alike((*instruction.inputs, *instruction.outputs))
    if views is None or not views[-1].size:
        return False
    gs, outs = views[: len(instruction.inputs)], views[len(instruction.inputs) :]
    (out,) = outs
    places = shown(out, parts)
    if places is None or len(places) != len(given):
        return False
    pairs = [(gs[k], place) for k, place in zip(given, places, strict=True) if k is not None]
    if any(g.shape != place.shape for g, place in pairs):
        return False
    if sum(g.size for g, _ in pairs) < out.size:
        clear(emitter, out)
    for g, place in pairs:
        if g.size:
            copy(emitter, g, place)
    return True


def diagonal(emitter: Emitter, instruction: Instruction) -> bool:
    """Zeros with the elements on the diagonals of matrices."""
    views = pair_of(emitter, instruction)
    if views is None:
        return False
    source, out = views
    found = _diagonal_of(instruction, out)
    if found is None or found.shape != source.shape:
        return False
    clear(emitter, out)
    copy(emitter, source, found)
    return True


def diagonal_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients on the diagonals."""
    views = pair_of(emitter, instruction)
    if views is None:
        return False
    source, out = views
    found = _diagonal_of(instruction, source)
    if found is None or found.shape != out.shape:
        return False
    copy(emitter, found, out)
    return True


def _diagonal_of(instruction: Instruction, matrices: View) -> View | None:
    """The diagonals that an operation is about."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    offset, dim1, dim2 = (entry.params[name] for name in ("offset", "dim1", "dim2"))
    found = shown(matrices, lambda array: array.diagonal(offset, dim1, dim2))
    return None if found is None else found[0]


def joined(emitter: Emitter, instruction: Instruction) -> bool:
    """Arrays beside each other, along a dimension that they have."""
    return _joined(emitter, instruction, False)


def stacked(emitter: Emitter, instruction: Instruction) -> bool:
    """Arrays beside each other, along a new dimension."""
    return _joined(emitter, instruction, True)


def _joined(emitter: Emitter, instruction: Instruction, new: bool) -> bool:
    found = emitter.alike((*instruction.inputs, *instruction.outputs))
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    if found is None or not all(v.size for v in found[:-1]):
        return False
    *views, out = found
    dim = entry.params["p0"]
    if type(dim) is not int or entry.params.get("p1", 0):
        return False
    axis, start = dim % len(out.shape), 0
    for v in views:
        shape = (*v.shape[:axis], 1, *v.shape[axis:]) if new else v.shape
        n = shape[axis]
        rest = [of[:axis] + of[axis + 1 :] for of in (shape, out.shape)]
        if rest[0] != rest[1]:
            return False
        source = v
        if new:
            source = v._replace(
                shape=shape, strides=(*v.strides[:axis], 1, *v.strides[axis:])
            )  # fmt: skip
        place = out._replace(offset=out.offset + start * out.strides[axis], shape=shape)
        copy(emitter, source, place)
        start += n
    return start == out.shape[axis]
