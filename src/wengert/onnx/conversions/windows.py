"""Convolutions, pooling, resizing and padding."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels.pool import region_bounds
from wengert.onnx.builder import Builder, Value, converts


def _pads(geometry: Any) -> list[int]:
    return [low for low, _ in geometry.padding] + [high for _, high in geometry.padding]


@converts("_convolution")
def _convolution(
    b: Builder, input: Value, weight: Value, geometry: Any, bias: Value | None = None
) -> str:
    return b(
        "Conv", input, weight, bias, strides=list(geometry.stride), pads=_pads(geometry),
        dilations=list(geometry.dilation), group=geometry.groups,
        kernel_shape=list(weight.shape[2:]),
    )  # fmt: skip


@converts("_transposed_convolution")
def _transposed_convolution(
    b: Builder, input: Value, weight: Value, size: Any, geometry: Any, bias: Value | None = None
) -> str:
    extra: list[int] = []
    for d, (s, (low, high), step) in enumerate(
        zip(geometry.stride, geometry.padding, geometry.dilation, strict=True), 2
    ):
        reach = step * (weight.shape[d] - 1) + 1 - low - high
        sizes = zip(input.shapes, b.out.shapes, strict=True)
        rests = {out[d] - (x[d] - 1) * s - reach for x, out in sizes}
        if len(rests) > 1:
            raise b.refuse("an output size that does not follow from the input's")
        extra += rests
    return b(
        "ConvTranspose", input, weight, bias, strides=list(geometry.stride), pads=_pads(geometry),
        dilations=list(geometry.dilation), group=geometry.groups, output_padding=extra,
        kernel_shape=list(weight.shape[2:]),
    )  # fmt: skip


def _each(value: Any, n: int) -> list[int]:
    values = list(value) if isinstance(value, tuple | list) else [value]
    return values * (n // len(values))


def _overhangs(input: Value, n: int, sizes: Any, ceil_mode: bool) -> bool:
    """Whether the last window of a pooling ends outside the padded input."""
    kernel, stride, padding, dilation = sizes
    if not ceil_mode:
        return False
    return any(
        (shape[len(shape) - n + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) % stride[d]
        for shape in input.shapes
        for d in range(n)
    )


def _with_batch(b: Builder, input: Value, n: int) -> tuple[str, bool]:
    alone = input.rank == n + 1
    return (b("Unsqueeze", input, b.ints([0])) if alone else input.name), alone


def _without_batch(b: Builder, out: str, alone: bool) -> str:
    return b("Squeeze", out, b.ints([0])) if alone else out


def _pool_sizes(n: int, kernel: Any, stride: Any, padding: Any, dilation: Any = 1) -> list[Any]:
    steps = kernel if stride is None or stride in ((), []) else stride
    return [_each(x, n) for x in (kernel, steps, padding, dilation)]


def _max_pool(n: int) -> Any:
    def convert(
        b: Builder, input: Value, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: bool, return_indices: bool,
    ) -> Any:  # fmt: skip
        kernel, steps, pads, spaces = _pool_sizes(n, kernel_size, stride, padding, dilation)
        x, alone = _with_batch(b, input, n)
        outs = b.several(
            "MaxPool", 2 if return_indices else 1, x, kernel_shape=kernel, strides=steps,
            pads=pads * 2, dilations=spaces, ceil_mode=int(ceil_mode),
        )  # fmt: skip
        values = _without_batch(b, outs[0], alone)
        if not return_indices:
            return values
        space = [input.size(d) for d in range(input.rank - n, input.rank)]
        if any(s is None for s in space):
            raise b.refuse("max pooling with indices of an image whose size is dynamic")
        plane = b.scalar(prod(s for s in space if s is not None), np.int64)
        return values, _without_batch(b, b("Mod", outs[1], plane), alone)

    return convert


def _avg_pool(n: int) -> Any:
    def convert(
        b: Builder, input: Value, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None = None,
    ) -> str:  # fmt: skip
        sizes = _pool_sizes(n, kernel_size, stride, padding)
        if _overhangs(input, n, sizes, ceil_mode):
            raise b.refuse("average pooling with ceil_mode whose windows leave the input")
        kernel, steps, pads, _ = sizes
        x, alone = _with_batch(b, input, n)
        inside = bool(count_include_pad) or divisor_override is not None
        out = b(
            "AveragePool", x, kernel_shape=kernel, strides=steps, pads=pads * 2,
            count_include_pad=int(inside),
        )  # fmt: skip
        if divisor_override is not None:
            out = b("Mul", out, b.scalar(prod(kernel) / divisor_override, input.dtype))
        return _without_batch(b, out, alone)

    return convert


def _adaptive_sizes(b: Builder, n: int, input: Value, output_size: Any) -> list[tuple[Any, int]]:
    """The size of each spatial dimension (None for a dynamic one), and what it becomes."""
    wanted = list(output_size) if isinstance(output_size, tuple | list) else [output_size] * n
    sizes = []
    for d, out in enumerate(wanted, input.rank - n):
        size = input.size(d)
        if out is None and size is None:
            raise b.refuse("adaptive pooling that keeps a dynamic size")
        if isinstance(out, Value) or (size is None and out != 1):
            raise b.refuse("adaptive pooling to more than one element of a dynamic size")
        sizes.append((size, int(size if out is None else out)))  # type: ignore[arg-type]
    return sizes


def _adaptive_avg_pool(n: int) -> Any:
    def convert(b: Builder, input: Value, output_size: Any) -> str:
        sizes = _adaptive_sizes(b, n, input, output_size)
        first = input.rank - n
        if all(out == 1 for _, out in sizes):
            return b("ReduceMean", input, b.ints(range(first, input.rank)), keepdims=1)
        result: Any = input
        for d, (size, out) in enumerate(sizes, first):
            if size is None:
                result = b("ReduceMean", result, b.ints([d]), keepdims=1)
            elif size != out:
                result = _averaged(b, result, input.rank, d, size, out, input.dtype)
        return b("Identity", result)

    return convert


def _averaged(b: Builder, x: Any, rank: int, dim: int, size: int, out: int, dtype: Any) -> str:
    """The means over windows of one dimension, as a product with a matrix."""
    matrix = np.zeros((size, out))
    for k, (low, high) in enumerate(region_bounds(size, out)):
        matrix[low:high, k] = 1 / (high - low)
    order = [d for d in range(rank) if d != dim] + [dim]
    moved = b("Transpose", x, perm=order)
    means = b("MatMul", moved, b.constant(matrix, dtype))
    return b("Transpose", means, perm=[order.index(d) for d in range(rank)])


def _adaptive_max_pool(n: int) -> Any:
    def convert(b: Builder, input: Value, output_size: Any, return_indices: bool) -> Any:
        sizes = _adaptive_sizes(b, n, input, output_size)
        if return_indices or any(size is not None and size % out for size, out in sizes):
            raise b.refuse("adaptive max pooling with indices, or with windows of several sizes")
        if all(out == 1 for _, out in sizes):
            axes = b.ints(range(input.rank - n, input.rank))
            return b("ReduceMax", input, axes, keepdims=1)
        if any(size is None for size, _ in sizes):
            raise b.refuse("adaptive max pooling of an image whose size is dynamic")
        kernel = [size // out for size, out in sizes]
        x, alone = _with_batch(b, input, n)
        return _without_batch(b, b("MaxPool", x, kernel_shape=kernel, strides=kernel), alone)

    return convert


for _n in (1, 2, 3):
    converts(f"max_pool{_n}d")(_max_pool(_n))
    converts(f"avg_pool{_n}d")(_avg_pool(_n))
    converts(f"adaptive_avg_pool{_n}d")(_adaptive_avg_pool(_n))
    converts(f"adaptive_max_pool{_n}d")(_adaptive_max_pool(_n))


_RESIZE = {
    "nearest": ("nearest", "asymmetric", "floor"),
    "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
    "linear": ("linear", "half_pixel", None),
    "bilinear": ("linear", "half_pixel", None),
    "trilinear": ("linear", "half_pixel", None),
    "bicubic": ("cubic", "half_pixel", None),
}


@converts("interpolate")
def _interpolate(
    b: Builder, input: Value, size: Any, scale_factor: Any, mode: str,
    align_corners: bool | None = None, recompute_scale_factor: Any = None, antialias: bool = False,
) -> str:  # fmt: skip
    if mode not in _RESIZE or antialias:
        raise b.refuse(f"interpolate(mode={mode!r}, antialias={antialias})")
    kind, coordinates, rounding = _RESIZE[mode]
    if align_corners:
        coordinates = "align_corners"
    n = input.rank - 2
    options: dict[str, Any] = {"mode": kind, "coordinate_transformation_mode": coordinates}
    options |= {"nearest_mode": rounding}
    if kind == "cubic":
        options["cubic_coeff_a"] = -0.75
    if scale_factor is not None and not recompute_scale_factor:
        factors = [float(f) for f in _each(scale_factor, n)]
        scales = b.constant([1.0, 1.0, *factors], np.float32)
        return b("Resize", input, None, scales, **options)
    if size is None:
        raise b.refuse("interpolate(recompute_scale_factor=True)")
    space = b.ints(_each(size, n))
    lead = b("Shape", input, start=0, end=2)
    return b("Resize", input, None, None, b("Concat", lead, space, axis=0), **options)


_PADS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@converts("pad")
def _pad(b: Builder, input: Value, pad: Any, mode: str, value: Any = None) -> str:
    if mode == "circular" and b.opset < 19:
        raise b.refuse("circular padding needs opset_version=19 or newer")
    return b("Pad", input, _amounts(b, input, pad), mode=_PADS[mode])


def _amounts(b: Builder, input: Value, pad: Any) -> str:
    """The padding in ONNX's order: in front of each dimension, then behind each."""
    n = input.rank - len(pad) // 2
    low, high = list(pad[0::2])[::-1], list(pad[1::2])[::-1]
    return b.ints([*[0] * n, *low, *[0] * n, *high])


@converts("_constant_pad")
def _constant_pad(b: Builder, input: Value, pad: Any, value: Any) -> str:
    amounts = _amounts(b, input, pad)
    if input.dtype.kind == "b":
        wide = b("Pad", b.cast(input, np.int32), amounts, b.scalar(int(value), np.int32))
        return b("Cast", wide, to=b.type_of(bool))
    return b("Pad", input, amounts, b.cast(value, input.dtype))
