"""Logarithms of sums of exponentials as kernels."""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels.chunks import rows_of
from wengert.kernels.softmax import native as softmax
from wengert.replay.emitting import Emitter
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.lines import reduced_axes, unreduced
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of


def logsumexp(emitter: Emitter, instruction: Instruction) -> bool:
    """Over some dimensions."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[0].size:
        return False
    x, out = views
    axes = reduced_axes(params_of(instruction)["dim"], len(x.shape))
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
    axes = reduced_axes(params_of(instruction)["dim"], len(x.shape))
    g, out = (unreduced(v, x.shape, axes) for v in (g, out))
    return loop_over(emitter, [_share], x.shape, [g, x, out], [result])


def _share(g: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    return g * np.exp(x - out)
