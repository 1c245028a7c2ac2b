"""Sampling at a grid of points, and the grids of affine maps.

A point reads a few elements, its taps. Their weights are a function of the grid with
derivatives of any order; the samples are linear in the input and in the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, shape_of, wrap
from wengert.kernels.precision import HALF
from wengert.ops.batching import leading
from wengert.ops.casting import convert
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.joining import stack
from wengert.ops.reduction import sum_over
from wengert.ops.shape import reshape
from wengert.ops.variadic import require_tensor

if TYPE_CHECKING:
    from wengert.kernels.grid import Sampling

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _once_more(orders: tuple[int, ...], d: int) -> tuple[int, ...]:
    return (*orders[:d], orders[d] + 1, *orders[d + 1 :])


def _weights_vjp(g: Value, input: Value, how: Sampling, orders: tuple[int, ...]) -> Value:
    slopes = [_tap_weights(input, how, _once_more(orders, d)) for d in range(len(orders))]
    return stack([sum_over(g * slope, -1, False) for slope in slopes], -1)


def _weights_jvp(t: Value, input: Value, how: Sampling, orders: tuple[int, ...]) -> Value:
    tangents = [
        t[..., d : d + 1] * _tap_weights(input, how, _once_more(orders, d))
        for d in range(len(orders))
    ]
    return sum(tangents[1:], tangents[0])


@primitive(batch=leading, input=_weights_vjp, jvp=_weights_jvp, name="grid_sample")
def _tap_weights(input: Value, how: Sampling, orders: tuple[int, ...]) -> Value:
    """The weights of the taps of each point, or their partial derivatives of given orders."""
    return kernels.grid.weights(input, how, orders)


@primitive(batch=leading, input=None, name="grid_sample")
def _tap_positions(input: Value, how: Sampling) -> Value:
    """The elements that the taps of each point read."""
    return kernels.grid.positions(input, how)


@multilinear(
    mixed=False,
    batch=leading,
    input=lambda g, index, weight, input_shape: _taps_filled(g, index, weight, input_shape[-1]),
    index=None,
    weight=lambda g, input, index: _tap_products(g, input, index),
    name="grid_sample",
)
def _taps_summed(input: Value, index: Value, weight: Value) -> Value:
    """Weighted sums of elements: (..., channels, elements) to (..., channels, points)."""
    return kernels.grid.sample(input, index, weight)


@multilinear(
    mixed=False,
    batch=leading,
    grad=lambda g, index, weight: _taps_summed(g, index, weight),
    index=None,
    weight=lambda g, grad, index: _tap_products(grad, g, index),
    name="grid_sample_backward",
)
def _taps_filled(grad: Value, index: Value, weight: Value, width: int) -> Value:
    return kernels.grid.spread(grad, index, weight, width)


@multilinear(
    mixed=False,
    batch=leading,
    grad=lambda g, input, index: _taps_summed(input, index, g),
    input=lambda g, grad, index, input_shape: _taps_filled(grad, index, g, input_shape[-1]),
    index=None,
    name="grid_sample_backward",
)
def _tap_products(grad: Value, input: Value, index: Value) -> Value:
    return kernels.grid.responses(grad, input, index)


def _samples(input: Value, grid: Value, how: Sampling) -> Value:
    """`_grid_sample` made of taps and their weights."""
    elements, points = _flat(input, grid)
    weight = _tap_weights(points, how, (0,) * len(how.size))
    out = _taps_summed(elements, _tap_positions(points, how), weight)
    return reshape(out, (*input.shape[:2], *grid.shape[1:-1]))


def _flat(values: Value, grid: Value) -> tuple[Value, Value]:
    """With one dimension for all elements, and one for all points."""
    return (
        reshape(values, (*values.shape[:2], prod(values.shape[2:]))),
        reshape(grid, (len(grid), prod(grid.shape[1:-1]), grid.shape[-1])),
    )


def _input_vjp(g: Value, grid: Value, input_shape: tuple[int, ...], how: Sampling) -> Value:
    if not isinstance(g, Tensor) and not isinstance(grid, Tensor):
        return kernels.grid.input_gradient(g, grid, how, input_shape)
    slopes, points = _flat(g, grid)
    weight = _tap_weights(points, how, (0,) * len(how.size))
    spread = _taps_filled(slopes, _tap_positions(points, how), weight, prod(how.size))
    return reshape(spread, input_shape)


def _grid_vjp(g: Value, input: Value, grid: Value, how: Sampling) -> Value:
    if not any(isinstance(x, Tensor) for x in (g, input, grid)):
        return kernels.grid.points_gradient(g, input, grid, how)
    slopes, points = _flat(g, grid)
    elements = reshape(input, (*input.shape[:2], prod(how.size)))
    products = _tap_products(slopes, elements, _tap_positions(points, how))
    by_points = _weights_vjp(products, points, how, (0,) * len(how.size))
    return reshape(by_points, grid.shape)


@primitive(
    mixed=False,
    label="GridSampler2DBackward0",
    reference=_samples,
    input=_input_vjp,
    grid=_grid_vjp,
    name="grid_sample",
)
def _grid_sample(input: Value, grid: Value, how: Sampling) -> Value:
    return kernels.grid.sampled(input, grid, how)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """The values of `input` (batch, channel, *space) at the points of `grid`.

    `grid` is (batch, *out, d) for an input of d spatial dimensions, two or three; the first
    coordinate is along the last dimension, from -1 to 1. `mode` is bilinear, nearest or (in
    two dimensions) bicubic; `padding_mode` determines values outside: zeros, border or reflection.

    >>> import wengert
    >>> image = wengert.arange(4.).reshape(1, 1, 2, 2)
    >>> centre = wengert.zeros(1, 1, 1, 2)
    >>> wengert.nn.functional.grid_sample(image, centre, align_corners=True)
    tensor([[[[1.5000]]]])
    """
    _check(input, grid, mode, padding_mode)
    dtype = input._outline.dtype
    if dtype in HALF:
        input, grid = convert(input, dtypes.float32), convert(grid, dtypes.float32)
        return convert(grid_sample(input, grid, mode, padding_mode, align_corners), of_numpy[dtype])
    space = shape_of(input)[2:]
    how = kernels.grid.Sampling(tuple(space), mode, padding_mode, bool(align_corners))
    return _grid_sample(input, grid, how)


def _check(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    for what, value, choices in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)):
        if value not in choices:
            raise ValueError(
                f"nn.functional.grid_sample(): expected {what} to be one of {choices}, but got:"
                f" {value!r}"
            )
    require_tensor("grid_sample", "input", input)
    require_tensor("grid_sample", "grid", grid, 2)
    shape, points = shape_of(input), shape_of(grid)
    if input._outline.dtype != grid._outline.dtype:
        raise RuntimeError(
            "grid_sample(): expected input and grid to have the same dtype, but got"
            f" {input.dtype} and {grid.dtype}"
        )
    rank = len(shape)
    fits = rank in (4, 5) and len(points) == rank and points[-1] == rank - 2
    if not fits or shape[0] != points[0] or 0 in shape[2:] or (mode == "bicubic" and rank == 5):
        raise RuntimeError(f"grid_sample(): expected {_what_fits(list(shape), list(points))}")
    require_kind("grid_sample", input._outline, "f")


def _what_fits(shape: list[int], points: list[int]) -> str:
    """What was expected of shapes that do not fit, and what came."""
    got = f"but got input with sizes {shape} and grid with sizes {points}"
    if not shape or not points or shape[0] != points[0]:
        return f"grid and input to have same batch size, {got}"
    if points[-1] != len(shape) - 2:
        return f"grid to have size {len(shape) - 2} in last dimension, {got}"
    if len(shape) not in (4, 5) or len(shape) != len(points):
        return f"4D or 5D input and grid with same number of dimensions, {got}"
    if 0 in shape[2:]:
        return f"input to have non-empty spatial dimensions, but got {shape}"
    return f"4D input, since bicubic interpolation only supports 4D input, {got}"


def _axis(n: int, align_corners: bool, dtype: np.dtype[Any]) -> np.ndarray:
    """Coordinates of n elements: of their centres, or from -1 to 1 with aligned corners."""
    if n == 1:
        return np.zeros(1, dtype)
    along = kernels.spacing.evenly(-1, 1, n, dtype.type)
    return along if align_corners else along * dtype.type(n - 1) / dtype.type(n)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Sampling points of affine maps of an output's points: a grid for `grid_sample`.

    `theta` is (batch, 2, 3) for `size` (batch, channel, height, width), or (batch, 3, 4) with a
    depth before them. The result is (batch, *space, d).

    >>> import wengert
    >>> identity = wengert.eye(2, 3).unsqueeze(0)
    >>> wengert.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    require_tensor("affine_grid", "theta", theta)
    size = tuple(size)
    if theta._outline.dtype not in dtypes.inexact:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    d = len(size) - 2
    if d not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms,"
            f" respectively. Got size {size}."
        )
    if theta.ndim != 3 or theta.shape[1:] != (d, d + 1):
        raise ValueError(
            f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size {size}."
            f" Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            f"affine_grid(): expected size[0] to be the batch size of theta, {theta.shape[0]},"
            f" but got {size[0]}"
        )
    dtype = theta._outline.dtype
    axes = [_axis(n, bool(align_corners), dtype) for n in size[2:]]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1).reshape(-1, d)
    base = wrap(np.concatenate([mesh, np.ones((len(mesh), 1), dtype)], 1))
    return (base @ theta.transpose(1, 2)).reshape(*size[:1], *size[2:], d)


__all__: list[str] = []
FUNCTIONAL = ("affine_grid", "grid_sample")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
