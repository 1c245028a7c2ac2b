"""Windows as kernels: convolutions, by the routes that eager mode takes, and pooling."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels import pool
from wengert.kernels.chunks import rows_of
from wengert.kernels.conv.route import KernelRoute, Route, WinogradSetting
from wengert.kernels.conv.routes import forward_route, grad_input_route, grad_weight_route
from wengert.kernels.pool import native
from wengert.kernels.reduction import native as reduction
from wengert.replay.emitting import F32, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.loop_forms import loop_over
from wengert.replay.patch_forms import PRODUCTS
from wengert.replay.row_forms import params_of


def convolution(emitter: Emitter, instruction: Instruction) -> bool:
    """Each output is a window's product with the weights."""
    views = _views(emitter, instruction)
    return views is not None and _forward(emitter, instruction, views)


def transposed(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a convolution's input, of some size."""
    views = _views(emitter, instruction)
    return views is not None and _grad_input(emitter, instruction, views)


def convolution_input(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the input of a convolution, from those of outputs and the weights."""
    views = _views(emitter, instruction)
    return views is not None and len(views) == 3 and _grad_input(emitter, instruction, views)


def transposed_input(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the input of a transposed convolution."""
    views = _views(emitter, instruction)
    return views is not None and len(views) == 3 and _forward(emitter, instruction, views)


def convolution_weight(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the weights, from that of outputs and the inputs."""
    views = _views(emitter, instruction)
    if views is None or len(views) != 3:
        return False
    g, x, out = views
    return _grad_weight(emitter, instruction, g, x, out)


def transposed_weight(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the weights of a transposed convolution."""
    views = _views(emitter, instruction)
    if views is None or len(views) != 3:
        return False
    g, x, out = views
    return _grad_weight(emitter, instruction, x, g, out)


def weight_back_grad(emitter: Emitter, instruction: Instruction) -> bool:
    """Of the gradient of weights, that of the first factor, the gradient of outputs."""
    views = _views(emitter, instruction)
    if views is None or len(views) != 3:
        return False
    g, x, out = views
    return _forward(emitter, instruction, [x, g, out])


def weight_back_input(emitter: Emitter, instruction: Instruction) -> bool:
    """Of the gradient of weights, that of the second factor, the inputs."""
    views = _views(emitter, instruction)
    if views is None or len(views) != 3:
        return False
    g, grad, out = views
    return _grad_input(emitter, instruction, [grad, g, out])


def channel_sums(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the bias of each channel."""
    views = _views(emitter, instruction)
    if views is None or len(views) != 2 or len(views[0].shape) < 3:
        return False
    g, out = views
    batch, channels = g.shape[:2]
    width = g.size // (batch * channels)
    sums = emitter.temporary((batch, channels))
    emitter.call(
        reduction.row_sums.f32, g, sums, width, total=batch * channels, chunk=rows_of(width)
    )  # fmt: skip
    blocks = -(-channels // reduction.LANES)
    emitter.call(
        reduction.middle_sums.f32, sums, out, batch, channels, blocks, total=blocks, chunk=1
    )  # fmt: skip
    return True


def _views(emitter: Emitter, instruction: Instruction) -> list[View] | None:
    """The views of operands, in the order of their dimensions, and of the result."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or not all(v.size for v in views):
        return None
    return [dense_of(emitter, v) for v in views]


def _forward(emitter: Emitter, instruction: Instruction, views: list[View]) -> bool:
    x, weight, *bias, out = views
    geometry = params_of(instruction)["geometry"]
    if out.shape[2:] != geometry.out_size(x.shape[2:], weight.shape[2:]):
        return False
    route = forward_route(x.shape, weight.shape, geometry, F32, F32, *_settings(emitter))
    return _made(route, "call_forward", emitter, x, weight, bias[0] if bias else None, out)


def _grad_input(emitter: Emitter, instruction: Instruction, views: list[View]) -> bool:
    g, weight, *bias, out = views
    geometry, size = params_of(instruction)["geometry"], out.shape[2:]
    route = grad_input_route(g.shape, weight.shape, size, geometry, F32, F32, *_settings(emitter))
    return _made(route, "call_grad_input", emitter, g, weight, bias[0] if bias else None, out)


def _grad_weight(emitter: Emitter, instruction: Instruction, g: View, x: View, out: View) -> bool:
    geometry, kernel = params_of(instruction)["geometry"], out.shape[2:]
    route = grad_weight_route(g.shape, x.shape, kernel, geometry, F32, F32, *_settings(emitter))
    return _made(route, "call_grad_weight", emitter, g, x, out)


def _settings(emitter: Emitter) -> tuple[int, str]:
    return emitter.threads, WinogradSetting.choice


def _made(route: Route, name: str, emitter: Emitter, *operands: Any) -> bool:
    """Make the calls of a map; False if its route is none of kernels or products."""
    if isinstance(route, KernelRoute):
        getattr(route, name)(emitter, *operands)
        return True
    return name in PRODUCTS and PRODUCTS[name](emitter, route, *operands)


# Pooling


def maxima(emitter: Emitter, instruction: Instruction) -> bool:
    """The maximum of each window, and where it is."""
    views = emitter.seen((instruction.inputs[0], instruction.outputs[0]))
    windows, places = params_of(instruction)["windows"], instruction.outputs[1]
    if views is None or not all(v.size for v in views):
        return False
    x, out = dense_of(emitter, views[0]), views[1]
    size = x.shape[-len(windows.kernel) :]
    if prod(size) >= 1 << 31 or pool.hollow_windows(size, *windows) is not None:
        return False
    room = emitter.room(places, out.shape, np.dtype(np.int32))
    native.call_max_planes(emitter, x, out, room, *windows)
    return True


def maxima_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of maxima, where these are."""
    g_value, places_value = instruction.inputs
    views = emitter.seen((g_value, instruction.outputs[0]))
    places, windows = emitter.views.get(places_value), params_of(instruction)["windows"]
    if views is None or places is None or places.dtype != np.int32 or not views[0].size:
        return False
    g, out = dense_of(emitter, views[0]), views[1]
    rank = len(windows.kernel)
    if pool.hollow_windows(out.shape[-rank:], *windows) is not None:
        return False
    native.call_add_planes(emitter, g, places, out, rank)
    return True


def means(emitter: Emitter, instruction: Instruction) -> bool:
    """The mean of each window."""
    views, params = _views(emitter, instruction), params_of(instruction)
    if views is None or type(params["divisor"]) not in (int, float):
        return False
    x, out = views
    sums, count = emitter.temporary(out.shape), np.float32(params["divisor"])
    native.call_sum_planes(emitter, x, sums, *params["windows"])
    return loop_over(emitter, [lambda x: x / count], out.shape, [sums], [out])


def means_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of means, over their windows."""
    views, params = _views(emitter, instruction), params_of(instruction)
    if views is None or type(params["divisor"]) not in (int, float):
        return False
    g, out = views
    windows, count = params["windows"], np.float32(params["divisor"])
    share, size = emitter.temporary(g.shape), out.shape[-len(windows.kernel) :]
    if not loop_over(emitter, [lambda x: x / count], g.shape, [g], [share]):
        return False
    native.call_spread_planes(emitter, share, out, windows.kernel, size, windows.geometry)
    return True
