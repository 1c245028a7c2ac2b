"""Convolutions with filters of their own at each place."""

from __future__ import annotations

from typing import Any

from wengert import ops
from wengert.ops.padding import pad
from wengert.symbolic.differentiation import Lop
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.structure import alloc
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Wrapped
from wengert.symbolic.tensor.nnet.convolutions import Window, converted


def _applied(x: Any, w: Any, window: Window) -> Any:
    """Images of (batch, channels, rows, columns) under filters of (outputs, output rows, output
    columns, channels, rows, columns), as tensors."""
    size = tuple(w.shape[4:])
    geometry = window.geometry(size)
    (top, bottom), (left, right) = geometry.padding
    padded = pad(x, (left, right, top, bottom))
    places = geometry.out_size(tuple(x.shape[2:]), size)
    if tuple(w.shape[1:3]) != tuple(places) or x.shape[1] != w.shape[3] * window.groups:
        raise ValueError(
            f"unshared filters of shape {tuple(w.shape)} do not fit images of {tuple(x.shape)}:"
            f" they need {window.groups} times {w.shape[3]} channels and {tuple(places)} places"
        )
    n, groups = x.shape[0], window.groups
    grouped = padded.reshape(n, groups, -1, *padded.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    (rows, columns), (down, right) = window.step, window.dilation
    total: Any = 0
    for i in range(size[0]):
        for j in range(size[1]):
            a, b = (size[0] - 1 - i, size[1] - 1 - j) if window.flip else (i, j)
            piece = grouped[
                ...,
                i * down : i * down + (places[0] - 1) * rows + 1 : rows,
                j * right : j * right + (places[1] - 1) * columns + 1 : columns,
            ]
            total = total + ops.einsum("ngcyx,goyxc->ngoyx", piece, filters[..., a, b])
    return total.reshape(n, -1, *places)


def convolved(window: Window, input: Any, filters: Any) -> Any:
    """`conv2d` with ``unshared=True``."""
    x, w = converted((4, 6), input, filters)
    pattern = (x.broadcastable[0], w.broadcastable[0], False, False)
    return Wrapped("UnsharedConv", Bound(_applied, window), [TensorType(x.dtype, pattern)])(x, w)


def of_inputs(window: Window, filters: Any, gradient: Any, sizes: Any) -> Any:
    """The adjoint in images."""
    w, g = converted((6, 4), filters, gradient)
    sizes = as_tensor_variable(sizes)
    lengths = [sizes[k] for k in (0, 1)]
    images = alloc(float_zeros(w[0, 0, 0, 0, 0, 0]), g.shape[0], w.shape[3] * window.groups,
                   *lengths)  # fmt: skip
    return Lop(convolved(window, images, w), images, g)


def of_weights(window: Window, input: Any, gradient: Any, sizes: Any) -> Any:
    """The adjoint in filters."""
    x, g = converted((4, 4), input, gradient)
    sizes = as_tensor_variable(sizes)
    filters = alloc(
        float_zeros(x[0, 0, 0, 0]), g.shape[1], g.shape[2], g.shape[3],
        x.shape[1] // window.groups, *[sizes[k - 2] for k in (0, 1)],
    )  # fmt: skip
    return Lop(convolved(window, x, filters), filters, g)
