"""Running sums, products and their kin, and products over a dimension, as kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.kernels.axes import axis_of
from wengert.kernels.scan import native as scan
from wengert.replay.emitting import I64, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of, dense_views, fill_with
from wengert.replay.lines import Lines, unreduced
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_over

_SCAN = Lines(scan.row_scan, scan.column_scan, scan.LANES)
_LOGARITHMS = Lines(scan.row_logsumexp, scan.column_logsumexp, scan.LANES)
_EXTREMES = Lines(scan.row_places, scan.column_places, scan.LANES)
_RECURRENCE = Lines(scan.row_recurrence, scan.column_recurrence, scan.LANES)
_SUM, _PRODUCT = 0, 1
_LOWEST = np.finfo(np.float32).min


def _scanned(emitter: Emitter, x: View, axis: int, reverse: bool, kind: int) -> View:
    """Running sums or products of a dense view, from its end if `reverse`."""
    out = emitter.temporary(x.shape)
    _SCAN.run(emitter, (x, out), x.shape, axis, int(reverse), kind)
    return out


def _running(kind: int, back: bool, emitter: Emitter, instruction: Instruction) -> bool:
    """A scan, or with `back` the gradient of a running sum: one in the opposite direction."""
    views, params = dense_views(emitter, instruction, 2), params_of(instruction)
    if views is None:
        return False
    x, out = views
    axis, reverse = axis_of(params["dim"], len(x.shape)), params["reverse"]
    _SCAN.run(emitter, (x, out), x.shape, axis, int(reverse != back), kind)
    return True


def _running_product_back(emitter: Emitter, instruction: Instruction) -> bool:
    """Sums of g * out over x; a recurrence that divides by nothing if there is a zero in x."""
    views, params = dense_views(emitter, instruction, 4), params_of(instruction)
    if views is None:
        return False
    g, x, out, to = views
    axis, reverse = axis_of(params["dim"], len(x.shape)), params["reverse"]
    zeros, product = _zeros(emitter, x), emitter.temporary(x.shape)
    if zeros is None or not loop_over(emitter, [_times], x.shape, [g, out], [product]):
        return False
    sums = _scanned(emitter, product, axis, not reverse, _SUM)
    step = -1 if reverse else 1
    carried = _recurred(emitter, g, _shifted(emitter, x, axis, -step, 0.0), axis, not reverse)
    before = _shifted(emitter, out, axis, step, 1.0)
    given = [zeros, x, sums, before, carried]
    return loop_over(emitter, [_by_zeros], x.shape, given, [to])


def _zeros(emitter: Emitter, x: View) -> View | None:
    """How many elements are zeros."""
    ones, count = emitter.temporary(x.shape), emitter.temporary(())
    done = loop_over(emitter, [_is_zero], x.shape, [x], [ones])
    return count if done and sum_over(emitter, ones, count, (*range(len(x.shape)),)) else None


def _shifted(emitter: Emitter, x: View, axis: int, by: int, number: float) -> View:
    """The elements one place further on (1) or back (-1), and a number in the place left free."""
    out, first = emitter.temporary(x.shape), [0] * len(x.shape)
    fill_with(emitter, number, out)
    lengths = [n - (d == axis) for d, n in enumerate(x.shape)]
    later = [int(d == axis) for d in range(len(x.shape))]
    old, new = (first, later) if by > 0 else (later, first)
    if lengths[axis]:
        copy(emitter, x.part(old, lengths), out.part(new, lengths))
    return out


def _recurred(emitter: Emitter, add: View, factor: View, axis: int, reverse: bool) -> View:
    """r[k] = add[k] + factor[k] * r[k - 1], or r[k + 1] if `reverse`."""
    out = emitter.temporary(add.shape)
    copy(emitter, add, out)
    emitter.changed.add(out.root)
    _RECURRENCE.run(emitter, (factor, out), out.shape, axis, int(reverse))
    return out


def _product(emitter: Emitter, instruction: Instruction) -> bool:
    """Over one dimension, or of all elements."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[0].size or not views[0].shape:
        return False
    x, axis = _along(emitter, instruction, views[0])
    running = _scanned(emitter, x, axis, False, _PRODUCT)
    last = running.part(
        [(n - 1) * (d == axis) for d, n in enumerate(x.shape)],
        [1 if d == axis else n for d, n in enumerate(x.shape)],
    )
    copy(emitter, last, views[1].shaped(*last.shape))
    return True


def _along(emitter: Emitter, instruction: Instruction, x: View) -> tuple[View, int]:
    """A dense view, and the dimension that a product is over; the only one, if it is over all."""
    dim, x = params_of(instruction)["dim"], dense_of(emitter, x)
    return (x.shaped(x.size), 0) if dim is None else (x, axis_of(dim, len(x.shape)))


def _product_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The product of all others: by division, unless there is a zero."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 4 or not views[1].size or not views[1].shape:
        return False
    g, whole, out, to = views
    x, axis = _along(emitter, instruction, whole)
    zeros = _zeros(emitter, x)
    before, after = (
        _shifted(emitter, _scanned(emitter, x, axis, end, _PRODUCT), axis, -1 if end else 1, 1.0)
        for end in (False, True)
    )
    if zeros is None:
        return False
    axes = (axis,) if x.shape == whole.shape else (*range(len(whole.shape)),)
    g, out = (unreduced(v, whole.shape, axes) for v in (g, out))
    others = [v.shaped(*whole.shape) for v in (x, before, after)]
    return loop_over(emitter, [_share], whole.shape, [zeros, g, out, *others], [to])


def _logarithms(emitter: Emitter, instruction: Instruction) -> bool:
    """The logarithms of running sums of exponentials."""
    views = dense_views(emitter, instruction, 2)
    if views is None:
        return False
    x, out = views
    axis = axis_of(params_of(instruction)["dim"], len(x.shape))
    _LOGARITHMS.run(emitter, (x, out), x.shape, axis)
    return True


def _logarithms_back(emitter: Emitter, instruction: Instruction) -> bool:
    """A recurrence from the end, in which the shares of elements in later sums decay."""
    views = dense_views(emitter, instruction, 4)
    if views is None:
        return False
    g, x, out, to = views
    axis = axis_of(params_of(instruction)["dim"], len(x.shape))
    steps, decay = emitter.temporary(x.shape), emitter.temporary(x.shape)
    if not loop_over(emitter, [_bounded], x.shape, [out], [steps]):
        return False
    following = _shifted(emitter, steps, axis, -1, np.inf)
    if not loop_over(emitter, [_decay], x.shape, [steps, following], [decay]):
        return False
    sums = _recurred(emitter, g, decay, axis, True)
    return loop_over(emitter, [_grown], x.shape, [x, out, sums], [to])


def _places(sign: float, emitter: Emitter, instruction: Instruction) -> bool:
    """Where the latest extreme element so far is."""
    (x,) = emitter.seen(instruction.inputs) or (None,)
    out = emitter.view(instruction.outputs[0])
    if x is None or out is None or out.dtype != I64 or not x.size or not x.shape:
        return False
    axis = axis_of(params_of(instruction)["dim"], len(x.shape))
    _EXTREMES.run(emitter, (dense_of(emitter, x), out), x.shape, axis, sign)
    return True


def _times(a: Any, b: Any) -> Any:
    return a * b


def _is_zero(x: Any) -> Any:
    return np.where(x == 0, np.float32(1), np.float32(0))


def _by_zeros(zeros: Any, x: Any, sums: Any, before: Any, carried: Any) -> Any:
    return np.where(zeros == 0, sums / x, before * carried)


def _share(zeros: Any, g: Any, out: Any, x: Any, before: Any, after: Any) -> Any:
    return np.where(zeros == 0, g * out / x, g * (before * after))


def _finite(x: Any) -> Any:
    """-inf replaced by the lowest number."""
    return np.maximum(x, _LOWEST)


def _bounded(x: Any) -> Any:
    """Both infinities replaced."""
    return -np.maximum(-_finite(x), _LOWEST)


def _decay(step: Any, following: Any) -> Any:
    return np.exp(_finite(step - following))


def _grown(x: Any, out: Any, sums: Any) -> Any:
    return np.exp(x - _finite(out)) * sums


SCANS: dict[Any, Callable[[Emitter, Instruction], bool]] = {
    "_cumsum": partial(_running, _SUM, False),
    ("_cumsum", "input"): partial(_running, _SUM, True),
    "_cumprod": partial(_running, _PRODUCT, False),
    ("_cumprod", "input"): _running_product_back,
    "_prod": _product,
    ("_prod", "input"): _product_back,
    "logcumsumexp": _logarithms,
    ("logcumsumexp", "input"): _logarithms_back,
    "_running_place_of_max": partial(_places, 1.0),
    "_running_place_of_min": partial(_places, -1.0),
}
