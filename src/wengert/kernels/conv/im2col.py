"""Convolution by GEMM over columns of windows (im2col), and over the input itself for 1x1.

This is the route for every dtype, and the only one without compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.conv.route import Direction, Problem, Route
from wengert.kernels.derived import keeps_for
from wengert.kernels.geometry import Geometry, Shape, offsets
from wengert.kernels.products.blas import large, matmul, threads_for
from wengert.kernels.products.gemm import gemm_by
from wengert.kernels.transposition import in_c_order

# Elements of a column matrix: small images are batched, and large ones split by lines.
_BLOCK = 1 << 19
# Copying another run costs about as much as transposing this many elements.
_RUN = 6
# Samples transposed at once: with more, writes to many lines fall out of the cache.
_TRANSPOSED = 16


class _Layout(NamedTuple):
    """The axis of samples relative to the channel, and how many are processed at once.

    Axis 1 keeps the natural order. Axis -1 turns the short lines of small images into long runs,
    but input and output have to be transposed.
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
    """Zero-padded samples at that axis, in an already zeroed buffer if it fits."""
    if not any(map(any, padding)):
        return np.ascontiguousarray(_moved(x, axis))
    size = [n + low + high for n, (low, high) in zip(x.shape[2:], padding, strict=True)]
    shape = (x.shape[1], *_between(len(x), size, axis))
    out = np.zeros(shape, x.dtype) if buffer is None or buffer.shape != shape else buffer
    inside = [slice(low, low + n) for n, (low, _) in zip(x.shape[2:], padding, strict=True)]
    out[:, *_between(slice(None), inside, axis)] = _moved(x, axis)
    return out


def _stacked(views: list[np.ndarray], buffer: np.ndarray | None) -> np.ndarray:
    """Arrays stacked along a new axis 1, in the buffer if it fits."""
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

    Each comes with its samples and points: all points if it has several samples. The matrix is
    valid until the next one is requested.
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


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A matrix product, also of a column and a row, for which BLAS is slow."""
    return a * b if a.shape[-1] == 1 else np.matmul(a, b)


def biased(out: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Add the bias of each channel, if any, to the output in place."""
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


def weight_times(rows: np.ndarray, columns: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The product of two matrices, of which the first shows all elements of a weight."""
    if keeps_for(weight) and large(rows, columns):
        turned = gemm_by(columns.T, rows.T, weight)
        if turned is not None:
            return in_c_order(turned.T)
    product: np.ndarray = matmul(rows, columns)
    return product


class Im2col(Route):
    """Products with matrices whose columns are the windows."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Always."""
        return True

    @cached_property
    def _layout(self) -> _Layout:
        x, weight, out, geometry, *_ = self.problem
        return _layout((x[1], weight[0]), self.problem.kernel, out, geometry)

    def _threads(self) -> Any:
        _, weight, out, *_ = self.problem
        samples = min(self.problem.x[0], self._layout.step)
        return threads_for(prod(weight) * prod(out) * samples)

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        size, geometry, layout = self.problem.out, self.problem.geometry, self._layout
        groups, axis = geometry.groups, layout.axis
        out = np.empty((len(x), len(weight), *size), x.dtype)
        matrix, flat = _matrix(weight, groups), _flat(out, groups)
        with self._threads():
            for part, points, columns in _columns(x, layout, self.problem.kernel, size, geometry):
                samples = part.stop - part.start
                if samples == 1:
                    np.matmul(matrix, columns, out=flat[part.start, :, :, points])
                else:
                    shape = _between(samples, size, axis)
                    result = np.matmul(matrix, columns).reshape(len(weight), *shape)
                    out[part] = _back(result, axis)
        return biased(out, bias)

    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.grad_input`."""
        shape, _, out, geometry, *_ = self.problem
        size, kernel, axis = self.problem.space, self.problem.kernel, self._layout.axis
        channels, groups, rows = shape[1], geometry.groups, weight.shape[1]
        matrix = _matrix(weight, groups).swapaxes(1, 2)
        total = np.empty(shape, g.dtype)
        whole = [n + low + high for n, (low, high) in zip(size, geometry.padding, strict=True)]
        inside = [slice(low, low + n) for n, (low, _) in zip(size, geometry.padding, strict=True)]
        with self._threads():
            for part in self._layout.parts(len(g)):
                columns = _product(matrix, _by_group(g[part], axis, groups))
                samples = part.stop - part.start
                blocks = columns.reshape(groups, prod(kernel), rows, *_between(samples, out, axis))
                sums = np.zeros((channels, *_between(samples, whole, axis)), g.dtype)
                seen = sums.reshape(groups, rows, *sums.shape[1:])
                for k, (_, met) in enumerate(offsets(kernel, out, geometry)):
                    seen[:, :, *_between(slice(None), met, axis)] += blocks[:, k]
                total[part] = _back(sums[:, *_between(slice(None), inside, axis)], axis)
        return biased(total, bias)

    def grad_weight(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """`Route.grad_weight`."""
        _, (channels, rows, *_), out, geometry, *_ = self.problem
        kernel, layout, groups = self.problem.kernel, self._layout, geometry.groups
        total = np.zeros((groups, channels // groups, prod(kernel) * rows), x.dtype)
        with self._threads():
            for part, points, columns in _columns(x, layout, kernel, out, geometry):
                outputs = _by_group(g[part], layout.axis, groups)
                if part.stop - part.start == 1:
                    outputs = outputs[:, :, points]
                total += np.matmul(outputs, columns.swapaxes(1, 2))
        weights = total.reshape(channels, *kernel, rows)
        return np.ascontiguousarray(np.moveaxis(weights, -1, 1))


class Pointwise(Im2col):
    """A matrix product: for 1x1 kernels the input already has the columns."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether it is a forward of adjacent windows of one element."""
        return direction == "forward" and problem.pointwise

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        groups, shape = self.problem.geometry.groups, (len(x), len(weight), *self.problem.out)
        if groups == len(x) == 1:
            rows, columns = weight.reshape(len(weight), -1), x.reshape(x.shape[1], -1)
            out = weight_times(rows, columns, weight)
        else:
            out = matmul(_matrix(weight, groups), _flat(x, groups))
        return biased(out.reshape(shape), bias)
