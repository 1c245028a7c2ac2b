"""Convolutions of windows that do not overlap, as products: kernels of one element, and patches."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from wengert.kernels.conv.apart import POSITIONS, Apart
from wengert.kernels.conv.im2col import Pointwise
from wengert.kernels.conv.route import Problem, Route, add_parts
from wengert.kernels.conv.routes import Mirrored
from wengert.replay.emitting import Emitter, View
from wengert.replay.layout_forms import dense_of
from wengert.replay.loop_forms import loop_over
from wengert.replay.product_forms import batched

# Floats of the gradients of weights that samples have of their own before they are added up.
_PARTIAL = 1 << 18


def forward(
    emitter: Emitter, route: Route, x: View, weight: View, bias: View | None, out: View
) -> bool:
    """The weights times the windows of each sample."""
    if not isinstance(route, Pointwise | Apart):
        return False
    samples, groups = x.shape[0], route.problem.geometry.groups
    columns = dense_of(emitter, _windows(route.problem, x))
    a = weight.shaped(groups, weight.shape[0] // groups, prod(weight.shape[1:]))
    b = columns.shaped(samples, groups, a.shape[-1], prod(out.shape[2:]))
    return _product(emitter, a, b, bias, out)


def grad_input(
    emitter: Emitter, route: Route, g: View, weight: View, bias: View | None, out: View
) -> bool:
    """The transposed weights times the gradients of each sample, for kernels of one element."""
    if not isinstance(route, Mirrored) or not route.problem.pointwise:
        return False
    samples, groups = g.shape[0], route.problem.geometry.groups
    a = weight.shaped(groups, weight.shape[0] // groups, weight.shape[1])
    b = g.shaped(samples, groups, a.shape[1], prod(g.shape[2:]))
    return _product(emitter, a.turned, b, bias, out)


def grad_weight(emitter: Emitter, route: Route, g: View, x: View, out: View) -> bool:
    """The gradients times the transposed windows, summed over all samples."""
    if not isinstance(route, Apart):
        return False
    windows, rank = _windows(route.problem, x), len(x.shape) - 2
    (samples, outs), positions = g.shape[:2], prod(g.shape[2:])
    taps = prod(out.shape[1:])
    if samples > 1 and positions < POSITIONS:
        a, b = _joined(emitter, g, 1), _joined(emitter, windows, 1 + rank)
        a, b = (v.shaped(n, samples * positions) for v, n in ((a, outs), (b, taps)))
        return batched(emitter, a, b.turned, out.shaped(outs, taps))
    a = g.shaped(samples, outs, positions)
    b = dense_of(emitter, windows).shaped(samples, taps, positions)
    parts = max(1, min(samples, _PARTIAL // out.size))
    sums = out if parts == 1 else emitter.temporary((parts, *out.shape))
    to = sums.shaped(parts, outs, taps)
    for first in range(0, samples, parts):
        count = min(parts, samples - first)
        some, others = _samples(a, first, count), _samples(b, first, count)
        if not batched(emitter, some, others.turned, _samples(to, 0, count), add=first > 0):
            return False
    if parts > 1:
        add_parts(emitter, sums, out, parts)
    return True


PRODUCTS: dict[str, Callable[..., bool]] = {
    "call_forward": forward, "call_grad_input": grad_input, "call_grad_weight": grad_weight,
}  # fmt: skip


def _windows(problem: Problem, x: View) -> View:
    """Of each sample and channel the elements by place in the window, and window."""
    geometry, steps = problem.geometry, x.strides[2:]
    places = [d * s for d, s in zip(geometry.dilation, steps, strict=True)]
    apart = [d * s for d, s in zip(geometry.stride, steps, strict=True)]
    shape = (*x.shape[:2], *problem.kernel, *problem.out)
    return x._replace(shape=shape, strides=(*x.strides[:2], *places, *apart))


def _product(emitter: Emitter, a: View, b: View, bias: View | None, out: View) -> bool:
    """A product for each sample and group; the bias is that of channels."""
    found = out if bias is None else emitter.temporary(out.shape)
    if not batched(emitter, a, b, found.shaped(*b.shape[:2], a.shape[-2], b.shape[-1])):
        return False
    if bias is None:
        return True
    shift = bias.shaped(bias.size, *(1,) * (len(out.shape) - 2))
    return loop_over(emitter, [lambda x, shift: x + shift], out.shape, [found, shift], [out])


def _joined(emitter: Emitter, view: View, rows: int) -> View:
    """The elements with the samples behind so many dimensions."""
    rank = len(view.shape)
    return dense_of(emitter, view.permuted((*range(1, 1 + rows), 0, *range(1 + rows, rank))))


def _samples(view: View, first: int, count: int) -> View:
    return view.part((first, 0, 0), (count, *view.shape[1:]))
