"""Variances and standard deviations as kernels."""

from __future__ import annotations

import math
from functools import partial
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.reduction import native as reduction
from wengert.replay.emitting import Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.lines import Lines, folded, reduced_axes, unreduced
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import averaged, root, sum_over

_LINES = Lines(reduction.row_variances, reduction.middle_variances, reduction.LANES)
# Elements of a single row from which it is worth several threads.
_LONG = 1 << 16


def variance(emitter: Emitter, instruction: Instruction) -> bool:
    """The squared distances from the mean over some dimensions, over the degrees of freedom."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    return views is not None and _variances(emitter, instruction, *views)


def deviation(emitter: Emitter, instruction: Instruction) -> bool:
    """The square root of the variance."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None:
        return False
    source, out = views
    variances = emitter.temporary(out.shape)
    return _variances(emitter, instruction, source, variances) and loop_over(
        emitter, [root], out.shape, [variances], [out]
    )


def _variances(emitter: Emitter, instruction: Instruction, source: View, out: View) -> bool:
    axes, degrees = _over(instruction, source)
    if not degrees or not axes:
        return False
    x = folded(emitter, source, axes)
    if x.shape[0] != 1 or x.shape[2] != 1 or x.size < _LONG:
        _LINES.run(emitter, (x, out), x.shape, 1, degrees)
        return True
    mean, squares = emitter.temporary((1, 1, 1)), emitter.temporary(x.shape)
    sums, count = emitter.temporary((1, 1, 1)), np.float32(degrees)
    return (
        averaged(emitter, x, mean, (1,))
        and loop_over(emitter, [_squared], x.shape, [x, mean], [squares])
        and sum_over(emitter, squares, sums, (1,))
        and loop_over(emitter, [lambda x: x / count], out.shape, [sums.shaped(*out.shape)], [out])
    )


def _over(instruction: Instruction, source: View) -> tuple[tuple[int, ...], float]:
    """Over which dimensions, and how many degrees of freedom; 0 where eager mode warns of them."""
    params = params_of(instruction)
    axes = reduced_axes(params["dim"], len(source.shape))
    degrees = prod(source.shape[d] for d in axes) - params["correction"]
    return axes, float(degrees) if source.size and 0 < degrees < math.inf else 0.0


def variance_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a variance: twice each element's distance from the mean, by its share."""
    return _back(emitter, instruction, _slope)


def deviation_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a standard deviation; none where that is 0."""
    return _back(emitter, instruction, _slope_of_root)


def _back(emitter: Emitter, instruction: Instruction, slope: Any) -> bool:
    """By the gradient that each element's distance from the mean is multiplied by."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None:
        return False
    g, x, *deviations, out = views
    axes, degrees = _over(instruction, x)
    if not degrees or not axes:
        return False
    given = [unreduced(v, x.shape, axes) for v in (g, *deviations)]
    mean, slopes = emitter.temporary(given[0].shape), emitter.temporary(given[0].shape)
    function = partial(slope, np.float32(2 / degrees))
    return (
        averaged(emitter, x, mean, axes)
        and loop_over(emitter, [function], slopes.shape, given, [slopes])
        and loop_over(emitter, [_times_distance], x.shape, [slopes, x, mean], [out])
    )


def _squared(x: Any, mean: Any) -> Any:
    return (x - mean) * (x - mean)


def _slope(each: Any, g: Any) -> Any:
    return g * each


def _slope_of_root(each: Any, g: Any, out: Any) -> Any:
    return np.where(out == 0, np.float32(0), g * np.float32(0.5) / out) * each


def _times_distance(slope: Any, x: Any, mean: Any) -> Any:
    return slope * (x - mean)
