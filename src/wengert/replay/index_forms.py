"""Picking and adding at indices as kernels."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from wengert.kernels import copies
from wengert.kernels.axes import axis_of
from wengert.kernels.chunks import rows_of
from wengert.kernels.jit import CHUNK
from wengert.kernels.scatter import native
from wengert.replay.bounds import BOUNDS
from wengert.replay.emitting import F32, I64, Emitter, Refusal, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import clear, copy, dense_of, fill_with
from wengert.replay.row_forms import params_of
from wengert.replay.trace import OpEntry


def embedding(emitter: Emitter, instruction: Instruction) -> bool:
    """The rows of a table at indices."""
    index, table = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    index = _in_order(emitter, index)
    if index is None or table is None or out is None or not _is_of_rows(index, table, out):
        return False
    checked = emitter.checked(index, table.shape[0], BOUNDS["_embedding"].error)
    native.call_take_rows(emitter, dense_of(emitter, table), checked, out)
    return True


def embedding_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the table: that of each row where it is from, but for the padding."""
    g, index = (emitter.view(v) for v in instruction.inputs)
    out, params = emitter.view(instruction.outputs[0]), params_of(instruction)
    padding = params["padding_idx"]
    index = _in_order(emitter, index)
    if index is None or g is None or out is None or not _is_of_rows(index, out, g):
        return False
    if params["by_frequency"] or params["sparse"] or type(padding) not in (int, type(None)):
        return False
    checked = emitter.checked(index, out.shape[0], BOUNDS["_embedding"].error)
    clear(emitter, out)
    left_out = -1 if padding is None else padding
    native.call_add_rows(emitter, out, checked, dense_of(emitter, g), left_out)
    return True


def _in_order(emitter: Emitter, index: View | None) -> View | None:
    """Indices in the order of their dimensions; None if there are none."""
    if index is None or index.dtype != I64 or not index.size:
        return None
    if index.is_dense:
        return index
    out, width = emitter.temporary(index.shape, I64), index.shape[-1]
    sizes, steps = (np.array(v, np.int64) for v in (index.shape, index.strides))
    emitter.call(
        copies.copy_integers.f32, index, out, sizes, steps, len(index.shape),
        total=index.size // width, chunk=rows_of(width),
    )  # fmt: skip
    return out


def _is_of_rows(index: View, table: View, rows: View) -> bool:
    """Whether indices name rows of a table of float32."""
    if table.dtype != F32:
        return False
    same = len(table.shape) == 2 and rows.shape == (*index.shape, table.shape[-1])
    return same and rows.dtype == F32 and bool(table.size and rows.size)


Sizes = tuple[int, int, int]


def indexed(emitter: Emitter, instruction: Instruction) -> bool:
    """The elements at the indices of a key."""
    x, *indices = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if x is None or out is None or x.dtype != F32 or not (x.size and out.size):
        return False
    found = _of_key(emitter, params_of(instruction)["key"], x.shape, indices)
    if found is None:
        return False
    places, sizes = found
    native.call_take(emitter, dense_of(emitter, x), places, out, sizes, False)
    return True


def indexed_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what was indexed: that of each element where it is from."""
    g, *indices = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if g is None or out is None or g.dtype != F32 or not (g.size and out.size):
        return False
    found = _of_key(emitter, params_of(instruction)["key"], out.shape, indices)
    if found is None:
        return False
    places, sizes = found
    clear(emitter, out)
    native.call_add(emitter, out, places, dense_of(emitter, g), sizes, False)
    return True


def _of_key(
    emitter: Emitter, key: tuple[Any, ...], shape: tuple[int, ...], indices: list[View | None]
) -> tuple[View, Sizes] | None:
    """The places that a key of adjacent dimensions picks, as of one dimension, and its sizes."""
    lead = len(key) - len(indices)
    if any(type(item) is int for item in key[:lead]):
        return None
    places = _checked(emitter, indices, shape[lead : len(key)])
    sizes = prod(shape[:lead]), prod(shape[lead : len(key)]), prod(shape[len(key) :])
    return None if places is None else (places, sizes)


def _checked(emitter: Emitter, indices: list[View | None], sizes: tuple[int, ...]) -> View | None:
    """Indices of some dimensions, which may be negative, as places in all of them together."""
    found = [x for index in indices if (x := _in_order(emitter, index)) is not None]
    if len(found) < len(indices) or any(index.shape != found[0].shape for index in found):
        return None
    out = emitter.temporary(found[0].shape, I64)
    for k, (index, n) in enumerate(zip(found, sizes, strict=True)):
        wrong = np.zeros(2, np.int64)
        emitter.refusals.append(Refusal(wrong, _out_of_bounds))
        emitter.call(
            native.checked_places.f32, index, out, wrong, n, int(k == 0), total=out.size,
            chunk=CHUNK,
        )  # fmt: skip
    return out


def _out_of_bounds(index: int) -> Exception:
    return IndexError(f"index {index} is out of bounds")


def taken(emitter: Emitter, instruction: Instruction) -> bool:
    """The slices of a dimension at an index (`index_select`), or an element each (`gather`)."""
    x, index = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    found = _along(emitter, instruction, x, index, out)
    if found is None or x is None or out is None:
        return False
    places, sizes, alike = found
    native.call_take(emitter, dense_of(emitter, x), places, out, sizes, alike)
    return True


def taken_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what `taken` takes from."""
    g, index = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    found = _along(emitter, instruction, out, index, g)
    if found is None or g is None or out is None:
        return False
    places, sizes, alike = found
    clear(emitter, out)
    native.call_add(emitter, out, places, dense_of(emitter, g), sizes, alike)
    return True


def added(emitter: Emitter, instruction: Instruction) -> bool:
    """The operand with slices added at an index (`index_add`), or an element each."""
    if len(instruction.inputs) != 3 or params_of(instruction).get("alpha", 1) != 1:
        return False
    x, index, values = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    found = _along(emitter, instruction, out, index, values)
    if found is None or x is None or x.dtype != F32 or values is None or out is None:
        return False
    places, sizes, alike = found
    copy(emitter, x, out)
    emitter.changed.add(out.root)
    native.call_add(emitter, out, places, dense_of(emitter, values), sizes, alike)
    return True


def written(emitter: Emitter, instruction: Instruction) -> bool:
    """The operand with an element written at each index (`scatter`); the last one stays."""
    x, index, values = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    found = _along(emitter, instruction, out, index, values)
    if found is None or x is None or x.dtype != F32 or values is None or out is None:
        return False
    places, sizes, _ = found
    copy(emitter, x, out)
    emitter.changed.add(out.root)
    native.call_put(emitter, out, places, dense_of(emitter, values), sizes)
    return True


def written_number(emitter: Emitter, instruction: Instruction) -> bool:
    """The same with one number for all."""
    return _numbered(emitter, instruction, params_of(instruction)["value"])


def written_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what is written to: none where something was written."""
    return _numbered(emitter, instruction, 0)


def _numbered(emitter: Emitter, instruction: Instruction, number: Any) -> bool:
    x, index = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if index is None or not index.size or not isinstance(number, int | float | np.floating):
        return False
    values = emitter.temporary(index.shape)
    found = _along(emitter, instruction, out, index, values)
    if found is None or x is None or x.dtype != F32 or out is None:
        return False
    places, sizes, _ = found
    copy(emitter, x, out)
    emitter.changed.add(out.root)
    fill_with(emitter, number, values)
    native.call_put(emitter, out, places, values, sizes)
    return True


def added_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what `added` adds: that of the places where it was added."""
    if params_of(instruction).get("alpha", 1) != 1:
        return False
    g, index = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    found = _along(emitter, instruction, g, index, out)
    if found is None or g is None or out is None:
        return False
    places, sizes, alike = found
    native.call_take(emitter, dense_of(emitter, g), places, out, sizes, alike)
    return True


_OF_SLICES = frozenset({"index_select", "index_add"})


def _along(
    emitter: Emitter, instruction: Instruction, whole: View | None, index: View | None,
    part: View | None,
) -> tuple[View, Sizes, bool] | None:  # fmt: skip
    """The places of an index along a dimension, its sizes, and whether each is of one element."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    if whole is None or part is None or index is None or not (whole.size and part.size):
        return None
    if (whole.dtype, part.dtype) != (F32, F32) or not whole.shape:
        return None
    alike, shape = entry.op.name not in _OF_SLICES, whole.shape
    axis = axis_of(entry.params["dim"], len(shape))
    around = (*shape[:axis], *index.shape, *shape[axis + 1 :])
    if alike:
        around = (*shape[:axis], part.shape[axis] if part.shape else 1, *shape[axis + 1 :])
        if index.shape != part.shape:
            return None
    if part.shape != around:
        return None
    index, length = _in_order(emitter, index), shape[axis]
    if index is None:
        return None
    places = emitter.checked(index, length, partial(_no_place, entry.op.name, axis, length))
    return places, (prod(shape[:axis]), length, prod(shape[axis + 1 :])), alike


def _no_place(name: str, axis: int, length: int, index: int) -> Exception:
    """What operations raise for an index along a dimension: none may be negative."""
    if name == "index_select":
        return RuntimeError(
            f"INDICES element is out of DATA bounds, id={index} axis_dim={length} in {name}()"
        )
    return RuntimeError(f"index {index} is out of bounds for dimension {axis} with size {length}")
