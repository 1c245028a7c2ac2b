"""Convolution of any dimension, by compiled kernels or by GEMM over columns of windows (im2col).

Three maps make a family that is closed under differentiation: `forward` (input and weight to
output), `grad_input` (its adjoint in the input, the transposed convolution) and `grad_weight`
(its adjoint in the weight). Each is computed by a `Route`, which `routes` selects, unless it is one
of `patches`.
"""

from __future__ import annotations

import numpy as np

from wengert.kernels.conv import patches
from wengert.kernels.conv.route import WinogradSetting
from wengert.kernels.conv.routes import forward_route, grad_input_route, grad_weight_route
from wengert.kernels.geometry import Geometry, Shape, offsets, space
from wengert.kernels.jit import get_threads


def forward(
    x: np.ndarray, weight: np.ndarray, geometry: Geometry, bias: np.ndarray | None = None
) -> np.ndarray:
    """Each output is a window's product with the weights, plus the bias of its channel."""
    found = patches.forward(x, weight, geometry, bias)
    if found is not None:
        return found
    route = forward_route(
        x.shape, weight.shape, geometry, x.dtype, weight.dtype, get_threads(),
        WinogradSetting.choice,
    )  # fmt: skip
    return route.forward(x, weight, bias)


def grad_input(
    g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Each value is added, times the weights, to its window in an array of that size, and then
    the bias of its channel is."""
    found = patches.grad_input(g, weight, size, geometry, bias)
    if found is not None:
        return found
    route = grad_input_route(
        g.shape, weight.shape, size, geometry, g.dtype, weight.dtype, get_threads(),
        WinogradSetting.choice,
    )  # fmt: skip
    return route.grad_input(g, weight, bias)


def grad_weight(g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry) -> np.ndarray:
    """Each weight is the product of the outputs with what its place in the kernel met."""
    found = patches.grad_weight(g, x, kernel, geometry)
    if found is not None:
        return found
    route = grad_weight_route(
        g.shape, x.shape, kernel, geometry, g.dtype, x.dtype, get_threads(),
        WinogradSetting.choice,
    )  # fmt: skip
    return route.grad_weight(g, x)


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
