"""Where the largest elements of rows are, and the order of all, as kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.kernels import ranking
from wengert.kernels.axes import axis_of
from wengert.kernels.chunks import rows_of
from wengert.kernels.jit import CHUNK
from wengert.kernels.ranking import native
from wengert.replay.emitting import I64, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.row_forms import params_of

_I32 = np.dtype(np.int32)
# Each row is sorted in a number of steps at least: NumPy is faster at many short ones.
_LONG, _FEW = 64, 16


def _tops(emitter: Emitter, instruction: Instruction) -> bool:
    """The places of the best of each row, best first."""
    found, params = _rows(emitter, instruction), params_of(instruction)
    if found is None or not ranking.takes_best(params["k"], found[0].shape[-1]):
        return False
    x, out = found
    k, n = params["k"], x.shape[-1]
    keys, rows = _keys(emitter, x, not params["largest"]), x.size // n
    if k > ranking.MANY:
        emitter.call(native.many_tops.f32, keys, out, n, k, total=rows, chunk=rows_of(n))
        return True
    best = emitter.temporary(out.shape, _I32)
    emitter.call(native.tops.f32, keys, out, best, n, k, total=rows, chunk=rows_of(n))
    return True


def _order(emitter: Emitter, instruction: Instruction) -> bool:
    """The places of the elements of each row, in their order."""
    found = _rows(emitter, instruction)
    if found is None:
        return False
    x, out = found
    n = x.shape[-1]
    rows = x.size // n
    if n < _LONG and rows > _FEW:
        return False
    keys = _keys(emitter, x, params_of(instruction)["descending"])
    scratch = [emitter.temporary(x.shape, _I32) for _ in range(3)]
    emitter.call(native.orders.f32, keys, out, *scratch, n, total=rows, chunk=rows_of(8 * n))
    return True


def _keys(emitter: Emitter, x: View, backwards: bool) -> View:
    """An integer for each element, in their order or the opposite one."""
    keys = emitter.temporary(x.shape, _I32)
    emitter.call(
        native.float_keys.f32, x, keys, -1 if backwards else 0, total=x.size, chunk=CHUNK
    )  # fmt: skip
    return keys


def _rows(emitter: Emitter, instruction: Instruction) -> tuple[View, View] | None:
    """What is ordered along its last dimension, and the places."""
    (x,) = emitter.seen(instruction.inputs) or (None,)
    out = emitter.view(instruction.outputs[0])
    if x is None or out is None or out.dtype != I64 or not x.shape or not (x.size and out.size):
        return None
    rank = len(x.shape)
    if axis_of(params_of(instruction)["dim"], rank) != rank - 1:
        return None
    return dense_of(emitter, x), out


ORDERS: dict[Any, Callable[[Emitter, Instruction], bool]] = {
    "_top_places": _tops,
    **dict.fromkeys(("_sorted_places", "argsort"), _order),
}
