"""Convolution of any dimension, by compiled kernels or by GEMM over columns of windows (im2col).

Three maps make a family that is closed under differentiation: `convolve` (input and weight
to output), `spread` (its adjoint in the input, the transposed convolution) and `correlate`
(its adjoint in the weight). Arrays are laid out (batch, channel, *space), weights
(out channel, in channel / groups, *kernel).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.geometry import Geometry, Shape, offsets, space
from wengert.kernels.jit import available
from wengert.kernels.products.blas import threads_for

# Multiplications from which compiled kernels, where there are any, are worth their first call.
_COMPILED = 1 << 12
# Elements of a column matrix: small images are taken several at a time, and large ones by lines.
_BLOCK = 1 << 19
# Copying another run costs about as much as transposing this many elements.
_RUN = 6
# Samples that are transposed at once: with more the writes of many lines fall out of the cache.
_TRANSPOSED = 16
# With fewer rows than this a GEMM wastes most of its tiles.
_FEWEST_ROWS = 8


class _Layout(NamedTuple):
    """How samples are worked on: where they stand behind the channel, and how many at once.

    First (axis 1) they are as they come. Last (axis -1) they make long runs of the short lines
    of small images, but input and output have to be transposed.
    """

    axis: int
    step: int

    def parts(self, batch: int) -> Iterator[slice]:
        return (slice(i, min(i + self.step, batch)) for i in range(0, batch, self.step))


def _layout(channels: Shape, kernel: Shape, out: Shape, geometry: Geometry) -> _Layout:
    """The layout for columns of the first of two numbers of channels."""
    rows = channels[0] * prod(kernel)
    step = max(1, _BLOCK // max(1, rows * prod(out)))
    if _RUN * rows < out[-1] * sum(channels) or geometry.stride[-1] > 1:
        return _Layout(1, step)
    return _Layout(-1, min(step, _TRANSPOSED))


def _between(samples: Any, space: Sequence[Any], axis: int) -> tuple[Any, ...]:
    return (samples, *space) if axis == 1 else (*space, samples)


def _moved(x: np.ndarray, axis: int) -> np.ndarray:
    """(samples, channel, *space) with the samples at that axis."""
    return x.swapaxes(0, 1) if axis == 1 else x.transpose(*range(1, x.ndim), 0)


def _back(x: np.ndarray, axis: int) -> np.ndarray:
    """The inverse of `_moved`."""
    return x.swapaxes(0, 1) if axis == 1 else x.transpose(x.ndim - 1, *range(x.ndim - 1))


def _enclosed(
    x: np.ndarray, axis: int, padding: tuple[tuple[int, int], ...], buffer: np.ndarray | None
) -> np.ndarray:
    """Samples at that axis, zeros around them: in a buffer that has these already, if it fits."""
    if not any(map(any, padding)):
        return np.ascontiguousarray(_moved(x, axis))
    size = [n + low + high for n, (low, high) in zip(x.shape[2:], padding, strict=True)]
    shape = (x.shape[1], *_between(len(x), size, axis))
    out = np.zeros(shape, x.dtype) if buffer is None or buffer.shape != shape else buffer
    inside = [slice(low, low + n) for n, (low, _) in zip(x.shape[2:], padding, strict=True)]
    out[:, *_between(slice(None), inside, axis)] = _moved(x, axis)
    return out


def _stacked(views: list[np.ndarray], buffer: np.ndarray | None) -> np.ndarray:
    """Arrays one behind the other along a new axis 1; in the buffer, if it fits."""
    if len(views) == 1:
        return views[0]
    lead, *rest = views[0].shape
    shape = (lead, len(views), *rest)
    out = np.empty(shape, views[0].dtype) if buffer is None or buffer.shape != shape else buffer
    for k, view in enumerate(views):
        out[:, k] = view
    return out


def _columns(
    x: np.ndarray, layout: _Layout, kernel: Shape, out: Shape, geometry: Geometry
) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Windows as matrices (groups, places * channels / groups, samples and points), in parts.

    With each the samples and the points that it is of: all points if it has several samples.
    The matrix is valid until the next one is asked for.
    """
    channels, groups, axis = x.shape[1], geometry.groups, layout.axis
    (lines, *line), places = out, list(offsets(kernel, out, geometry))
    enclosed = buffer = None
    for part in layout.parts(len(x)):
        enclosed = _enclosed(x[part], axis, geometry.padding, enclosed)
        seen = enclosed.reshape(groups, channels // groups, *enclosed.shape[1:])
        samples = part.stop - part.start
        width = samples * prod(line)
        fitting = max(1, _BLOCK // max(1, width * channels * len(places)))
        step = fitting if samples == 1 else max(1, lines)
        for i in range(0, lines, step):
            here = min(step, lines - i)
            views = []
            for _, (first, *others) in places:
                start = first.start + i * first.step
                stop = start + (here - 1) * first.step + 1
                met = (slice(start, stop, first.step), *others)
                views.append(seen[:, :, *_between(slice(None), met, axis)])
            buffer = _stacked(views, buffer)
            points = slice(i * prod(line), (i + here) * prod(line))
            yield part, points, buffer.reshape(groups, -1, here * width)


def _by_group(g: np.ndarray, axis: int, groups: int) -> np.ndarray:
    """(samples, channels, *out) as matrices (groups, channels / groups, samples and points)."""
    return _moved(g, axis).reshape(groups, g.shape[1] // groups, -1)


def _flat(x: np.ndarray, groups: int) -> np.ndarray:
    """(samples, channels, *space) as matrices (samples, groups, channels / groups, space)."""
    return x.reshape(len(x), groups, x.shape[1] // groups, prod(x.shape[2:]))


def _matrix(weight: np.ndarray, groups: int) -> np.ndarray:
    """Weights as matrices (groups, out channels / groups, places * channels / groups)."""
    rows = np.moveaxis(weight, 1, -1)
    return rows.reshape(groups, len(weight) // groups, prod(weight.shape[1:]))


def _is_plain(kernel: Shape, geometry: Geometry) -> bool:
    """Whether each window is one element and each element a window."""
    return max(kernel) == max(geometry.stride) == 1 and not any(map(any, geometry.padding))


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A product of matrices, also of a column and a row, for which BLAS is slow."""
    return a * b if a.shape[-1] == 1 else np.matmul(a, b)


def _routes(
    x: Shape, weight: Shape, size: Shape, geometry: Geometry, *arrays: np.ndarray
) -> tuple[ModuleType, ...]:
    """The modules with compiled kernels to try for these shapes, in order.

    They have all three maps. One returns None where the next is better; the last never does.
    """
    if x[0] * prod(weight) * prod(size) < _COMPILED:
        return ()
    if any(a.dtype != np.float32 for a in arrays) or not available():
        return ()
    from wengert.kernels.conv import batched as conv_batched
    from wengert.kernels.conv import depthwise, winograd
    from wengert.kernels.conv import direct as conv_direct

    plain = conv_batched if conv_batched.fits(x, weight, size, geometry) else conv_direct
    return winograd, depthwise, plain


def convolve(
    x: np.ndarray, weight: np.ndarray, geometry: Geometry, bias: np.ndarray | None = None
) -> np.ndarray:
    """Each output is a window's product with the weights, plus the bias of its channel."""
    kernel = weight.shape[2:]
    size = geometry.out_size(x.shape[2:], kernel)
    if not _is_plain(kernel, geometry):
        for way in _routes(x.shape, weight.shape, size, geometry, x, weight):
            found = way.convolve(x, weight, size, geometry, bias)
            if found is not None:
                return found
    out = _convolve(x, weight, size, geometry)
    return out if bias is None else _biased(out, bias)


def _biased(out: np.ndarray, bias: np.ndarray) -> np.ndarray:
    out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


def _convolve(x: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry) -> np.ndarray:
    kernel, groups = weight.shape[2:], geometry.groups
    out = np.empty((len(x), len(weight), *size), x.dtype)
    matrix, flat = _matrix(weight, groups), _flat(out, groups)
    layout = _layout((x.shape[1], len(weight)), kernel, size, geometry)
    with threads_for(prod(weight.shape) * prod(size) * min(len(x), layout.step)):
        if _is_plain(kernel, geometry):
            np.matmul(matrix, _flat(x, groups), out=flat)
            return out
        for part, points, columns in _columns(x, layout, kernel, size, geometry):
            if part.stop - part.start == 1:
                np.matmul(matrix, columns, out=flat[part.start, :, :, points])
            else:
                shape = _between(part.stop - part.start, size, layout.axis)
                result = np.matmul(matrix, columns).reshape(len(weight), *shape)
                out[part] = _back(result, layout.axis)
    return out


def correlate(g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry) -> np.ndarray:
    """Each weight is the product of the outputs with what its place in the kernel met."""
    shape = (g.shape[1], x.shape[1] // geometry.groups, *kernel)
    for way in _routes(x.shape, shape, g.shape[2:], geometry, g, x):
        found = way.correlate(g, x, kernel, geometry)
        if found is not None:
            return found
    groups, channels = geometry.groups, g.shape[1]
    rows, out = x.shape[1] // groups, g.shape[2:]
    layout = _layout((x.shape[1], channels), kernel, out, geometry)
    total = np.zeros((groups, channels // groups, prod(kernel) * rows), x.dtype)
    with threads_for(total.size * prod(out) * min(len(x), layout.step)):
        for part, points, columns in _columns(x, layout, kernel, out, geometry):
            outputs = _by_group(g[part], layout.axis, groups)
            if part.stop - part.start == 1:
                outputs = outputs[:, :, points]
            total += np.matmul(outputs, columns.swapaxes(1, 2))
    weights = total.reshape(channels, *kernel, rows)
    return np.ascontiguousarray(np.moveaxis(weights, -1, 1))


def overlap_add(blocks: np.ndarray, size: Shape, geometry: Geometry) -> np.ndarray:
    """Blocks (batch, channel, *kernel, *out), each added where its window lies; then the padding
    is cut off: (batch, channel, *size)."""
    rank, pads = len(size), geometry.padding
    kernel, out = blocks.shape[2 : 2 + rank], blocks.shape[2 + rank :]
    whole = [n + low + high for n, (low, high) in zip(size, pads, strict=True)]
    total = np.zeros((*blocks.shape[:2], *whole), blocks.dtype)
    for place, slices in offsets(kernel, out, geometry):
        total[space(slices)] += blocks[space(place)]
    inside = [slice(low, low + n) for n, (low, _) in zip(size, pads, strict=True)]
    return total[space(inside)]


def _mirrored(
    weight: np.ndarray, size: Shape, out: Shape, geometry: Geometry
) -> tuple[np.ndarray, Geometry] | None:
    """The convolution that is the adjoint of one, if it is one and worth it."""
    rank, groups = len(size), geometry.groups
    if max(geometry.stride) > 1 or (groups == 1 and weight.shape[1] < _FEWEST_ROWS):
        return None
    reach = [d * (k - 1) for d, k in zip(geometry.dilation, weight.shape[2:], strict=True)]
    padding = tuple(
        (r - low, n + low - o)
        for r, (low, _), n, o in zip(reach, geometry.padding, size, out, strict=True)
    )
    if min(map(min, padding)) < 0:
        return None
    parts = np.flip(weight, tuple(range(2, 2 + rank)))
    parts = parts.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
    mirrored = parts.reshape(groups * weight.shape[1], -1, *weight.shape[2:])
    return mirrored, geometry._replace(padding=padding)


def spread(
    g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Each value is added, times the weights, to its window in an array of that size, and then
    the bias of its channel is."""
    shape = (len(g), weight.shape[1] * geometry.groups, *size)
    # What is a product of matrices one way is one the other way, too.
    if not _is_plain(weight.shape[2:], geometry) or weight.shape[1] < _FEWEST_ROWS:
        for way in _routes(shape, weight.shape, g.shape[2:], geometry, g, weight):
            found = way.spread(g, weight, size, geometry, bias)
            if found is not None:
                return found
    out = _spread(g, weight, size, geometry)
    return out if bias is None else _biased(out, bias)


def _spread(g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry) -> np.ndarray:
    kernel, out, groups = weight.shape[2:], g.shape[2:], geometry.groups
    mirrored = _mirrored(weight, size, out, geometry)
    if mirrored is not None:
        return convolve(g, *mirrored)
    channels = weight.shape[1] * groups
    matrix = _matrix(weight, groups).swapaxes(1, 2)
    total = np.empty((len(g), channels, *size), g.dtype)
    layout = _layout((channels, g.shape[1]), kernel, out, geometry)
    axis = layout.axis
    whole = [n + low + high for n, (low, high) in zip(size, geometry.padding, strict=True)]
    inside = [slice(low, low + n) for n, (low, _) in zip(size, geometry.padding, strict=True)]
    with threads_for(prod(weight.shape) * prod(out) * min(len(g), layout.step)):
        for part in layout.parts(len(g)):
            columns = _product(matrix, _by_group(g[part], axis, groups))
            samples = part.stop - part.start
            shape = (groups, prod(kernel), weight.shape[1])
            blocks = columns.reshape(*shape, *_between(samples, out, axis))
            sums = np.zeros((channels, *_between(samples, whole, axis)), g.dtype)
            seen = sums.reshape(groups, weight.shape[1], *sums.shape[1:])
            for k, (_, met) in enumerate(offsets(kernel, out, geometry)):
                seen[:, :, *_between(slice(None), met, axis)] += blocks[:, k]
            found = sums[:, *_between(slice(None), inside, axis)]
            total[part] = _back(found, axis)
    return total
