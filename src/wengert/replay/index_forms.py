"""Tables of rows as kernels."""

from __future__ import annotations

from wengert.kernels.scatter import native
from wengert.replay.bounds import BOUNDS
from wengert.replay.emitting import F32, I64, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import clear, dense_of
from wengert.replay.row_forms import params_of


def embedding(emitter: Emitter, instruction: Instruction) -> bool:
    """The rows of a table at indices."""
    index, table = (emitter.view(v) for v in instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if table is None or out is None or not _is_of_rows(index, table, out):
        return False
    assert index is not None
    checked = emitter.checked(index, table.shape[0], BOUNDS["_embedding"].error)
    native.call_take_rows(emitter, dense_of(emitter, table), checked, out)
    return True


def embedding_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the table: that of each row where it is from, but for the padding."""
    g, index = (emitter.view(v) for v in instruction.inputs)
    out, params = emitter.view(instruction.outputs[0]), params_of(instruction)
    padding = params["padding_idx"]
    if g is None or out is None or not _is_of_rows(index, out, g):
        return False
    if params["by_frequency"] or params["sparse"] or type(padding) not in (int, type(None)):
        return False
    assert index is not None
    checked = emitter.checked(index, out.shape[0], BOUNDS["_embedding"].error)
    clear(emitter, out)
    left_out = -1 if padding is None else padding
    native.call_add_rows(emitter, out, checked, dense_of(emitter, g), left_out)
    return True


def _is_of_rows(index: View | None, table: View, rows: View) -> bool:
    """Whether indices name rows of a table of float32."""
    if index is None or index.dtype != I64 or not index.is_dense or table.dtype != F32:
        return False
    same = len(table.shape) == 2 and rows.shape == (*index.shape, table.shape[-1])
    return same and rows.dtype == F32 and bool(table.size and rows.size)
