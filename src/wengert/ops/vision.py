"""Images: pixel and channel shuffling, and sliding blocks."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.layout import contiguous_format
from wengert.core.tensor import Tensor, Tracer
from wengert.kernels.geometry import Geometry, Shape, padded, windows
from wengert.kernels.layout import in_c_order, is_channels_last
from wengert.kernels.precision import narrowed, widened
from wengert.ops.batch_fallbacks import folded
from wengert.ops.batching import Batch
from wengert.ops.checks import typed_ints
from wengert.ops.declare import Value, multilinear
from wengert.ops.shape import clone
from wengert.ops.variadic import require_tensor


def _check_rank(name: str, input: Tensor) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with"
            f" {input.ndim} dimension(s)"
        )


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Turn channels into space: (..., c r r, h, w) to (..., c, h r, w r).

    >>> import wengert
    >>> wengert.pixel_shuffle(wengert.arange(4.).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    require_tensor("pixel_shuffle", "input", input)
    _check_rank("pixel_shuffle", input)
    r = upscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square"
            f" of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    sizes = (prod(lead), channels // (r * r), r, r, height, width)
    shape = (*lead, channels // (r * r), height * r, width * r)
    return _merged(input, sizes, (0, 1, 4, 2, 5, 3), 2, shape)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: (..., c, h r, w r) to (..., c r r, h, w).

    >>> import wengert
    >>> wengert.pixel_unshuffle(wengert.arange(4.).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    require_tensor("pixel_unshuffle", "input", input)
    _check_rank("pixel_unshuffle", input)
    r = downscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    for name, d, n in (("height", -2, height), ("width", -1, width)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but"
                f" input.size({d})={n} is not divisible by {r}"
            )
    sizes = (prod(lead), channels, height // r, r, width // r, r)
    shape = (*lead, channels * r * r, height // r, width // r)
    return _merged(input, sizes, (0, 1, 3, 5, 2, 4), 4, shape)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave `groups` groups of channels (dimension 1).

    >>> import wengert
    >>> wengert.nn.functional.channel_shuffle(wengert.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    require_tensor("channel_shuffle", "input", input)
    _check_rank("channel_shuffle", input)
    batch, channels, *space = input.shape
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and"
            f" {groups} groups."
        )
    sizes = (batch, groups, channels // groups, *space)
    order = (0, 2, 1, *range(3, len(sizes)))
    return _merged(input, sizes, order, 3, (batch, channels, *space))


def _merged(
    input: Tensor, sizes: Shape, order: Shape, space: int, shape: tuple[int, ...]
) -> Tensor:
    """A copy in another shape of parts of these sizes, in another order.

    Their dimensions from `space` on are those of space. Channels last, if the input is.
    """
    if isinstance(input, Tracer) or not is_channels_last(input._outline):
        return _rearranged(input, sizes, order, shape)
    blocks = input.reshape(sizes).permute(order)
    channels_last = (0, *range(space, blocks.ndim), *range(1, space))
    batch, channels, *spaces = shape
    mixed = clone(blocks.permute(channels_last), memory_format=contiguous_format)
    merged = mixed.view(batch, *spaces, channels)
    return merged.permute(0, merged.ndim - 1, *range(1, merged.ndim - 1))


def _rearranged_back(g: Value, input_shape: tuple[int, ...], sizes: Shape, order: Shape) -> Value:
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return _rearranged(g, tuple([sizes[d] for d in order]), back, tuple(input_shape))


def _rearranged_in_batch(b: Batch) -> Value:
    return b(
        input=b.whole("input"), sizes=(b.size, *b.params["sizes"]),
        order=(0, *[d + 1 for d in b.params["order"]]), shape=(b.size, *b.params["shape"]),
    )  # fmt: skip


@multilinear(
    input=lambda g, input_shape, sizes, order: _rearranged_back(g, input_shape, sizes, order),
    batch=_rearranged_in_batch,
    name="pixel_shuffle",
)
def _rearranged(input: Value, sizes: Shape, order: Shape, shape: tuple[int, ...]) -> Value:
    """Parts of these sizes in another order, as a new array of some shape."""
    return in_c_order(input.reshape(sizes).transpose(order)).reshape(shape)


@multilinear(
    batch=folded(1),
    label="Im2ColBackward0",
    input=lambda g, input_shape, kernel, grid, geometry: _summed_blocks(
        g, input_shape[2:], kernel, grid, geometry
    ),
    name="unfold",
)
def _blocks(input: Value, kernel: Shape, grid: Shape, geometry: Geometry) -> Value:
    view = windows(padded(input, geometry.padding), kernel, grid, geometry)
    return view.reshape(len(input), input.shape[1] * prod(kernel), prod(grid)).copy()


@multilinear(
    batch=folded(1),
    label="Col2ImBackward0",
    input=lambda g, kernel, grid, geometry: _blocks(g, kernel, grid, geometry),
    name="fold",
)
def _summed_blocks(
    input: Value, size: Shape, kernel: Shape, grid: Shape, geometry: Geometry
) -> Value:
    wide_input = widened(input)
    blocks = wide_input.reshape(len(input), input.shape[1] // prod(kernel), *kernel, *grid)
    total = kernels.sliding.added(blocks, size, geometry)
    if total is None:
        total = kernels.conv.overlap_add(blocks, size, geometry)
    return narrowed(np.ascontiguousarray(total), input.dtype)


def _pairs(name: str, *arguments: tuple[str, Any, int]) -> list[Shape]:
    """Arguments (name, value, minimum) as two integers each; types are checked first."""
    pairs = [(what, typed_ints(name, what, value), least) for what, value, least in arguments]
    for (what, pair, least), (_, value, _) in zip(pairs, arguments, strict=True):
        if isinstance(value, (tuple, list)) and len(pair) != 2:
            raise RuntimeError(f"{name}(): {what} must be one or two integers, got {value!r}")
        if min(pair) < least:
            kind = "greater than zero" if least else "non-negative"
            raise RuntimeError(f"{name}(): {what} should be {kind}, but got {pair}")
    return [pair * (2 // len(pair)) for _, pair, _ in pairs]


def _block_geometry(
    name: str, size: Shape, kernel: Shape, space: Shape, pads: Shape, steps: Shape
) -> tuple[Shape, Shape, Geometry]:
    geometry = Geometry(steps, tuple((p, p) for p in pads), space)
    out = geometry.out_size(size, kernel)
    if min(out) <= 0:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={space},"
            f" padding={pads}, calculated shape of the array of sliding blocks as {out}, but its"
            " components must be at least one."
        )
    return kernel, out, geometry


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sliding blocks of `input` (batch, c, height, width) as columns (batch, c kh kw, blocks).

    >>> import wengert
    >>> wengert.nn.functional.unfold(wengert.arange(4.).reshape(1, 1, 2, 2), (1, 2))
    tensor([[[0., 2.],
             [1., 3.]]])
    """
    require_tensor("unfold", "input", input)
    pairs = _pairs(
        "unfold", ("kernel_size", kernel_size, 1), ("dilation", dilation, 1),
        ("padding", padding, 0), ("stride", stride, 1),
    )  # fmt: skip
    size = tuple(input.shape)
    if input.ndim not in (3, 4) or 0 in size[-3:]:
        raise (IndexError if input.ndim < 3 else RuntimeError)(
            "Dimension out of range: unfold() expects a 3D or 4D (batch mode) tensor with possibly"
            f" 0 batch size and other non-zero dimensions for input, but got: {list(size)}"
        )
    return _in_batch(_blocks, input, 4, *_block_geometry("unfold", size[-2:], *pairs))


def _in_batch(function: Any, input: Tensor, ndim: int, *args: Any) -> Tensor:
    """Call an operation on batches, of `ndim` dimensions, with a batch or a sample."""
    batch: Tensor = function(input if input.ndim == ndim else input.unsqueeze(0), *args)
    return batch if input.ndim == ndim else batch.squeeze(0)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `unfold`: blocks (batch, c kh kw, n) added into (batch, c, *output_size).

    >>> import wengert
    >>> wengert.nn.functional.fold(wengert.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    require_tensor("fold", "input", input)
    size, *pairs = _pairs(
        "fold", ("output_size", output_size, 1), ("kernel_size", kernel_size, 1),
        ("dilation", dilation, 1), ("padding", padding, 0), ("stride", stride, 1),
    )  # fmt: skip
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and"
            f" non-zero dimensions for input, but got: {list(input.shape)}"
        )
    kernel, out, geometry = _block_geometry("fold", size, *pairs)
    columns, blocks = input.shape[-2:]
    if columns % prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size,"
            f" but got input.size(1)={columns} and kernel_size={kernel}."
        )
    if blocks != prod(out):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, expected size of input's dimension 2"
            f" to match the calculated number of sliding blocks {out[0]} * {out[1]} ="
            f" {prod(out)}, but got input.size(2)={blocks}."
        )
    return _in_batch(_summed_blocks, input, 3, size, kernel, out, geometry)


__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]
FUNCTIONAL = ("channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
