"""Logarithms of sums of exponentials as kernels."""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels.axes import axes_of
from wengert.kernels.chunks import rows_of
from wengert.kernels.softmax import native as softmax
from wengert.replay.emitting import Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of


def logsumexp(emitter: Emitter, instruction: Instruction) -> bool:
    """Over some dimensions."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[0].size:
        return False
    x, out = views
    axes = _axes(instruction, x)
    kept = [d for d in range(len(x.shape)) if d not in axes]
    rows = dense_of(emitter, x.permuted((*kept, *axes)))
    width = prod(x.shape[d] for d in axes)
    emitter.call(softmax.logsumexp.f32, rows, out, width, total=out.size, chunk=rows_of(width))
    return True


def logsumexp_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of what was summed: each element's share of it."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 4 or not views[1].size:
        return False
    g, x, out, result = views
    axes = _axes(instruction, x)
    unreduced = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    wide = [v.as_shape(unreduced) for v in (g, out)]
    if wide[0] is None or wide[1] is None:
        return False
    g, out = (v.expanded(x.shape) for v in wide if v is not None)
    return loop_over(emitter, [_share], x.shape, [g, x, out], [result])


def _share(g: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    return g * np.exp(x - out)


def _axes(instruction: Instruction, x: View) -> tuple[int, ...]:
    return axes_of(params_of(instruction)["dim"], len(x.shape)) or (*range(len(x.shape)),)
