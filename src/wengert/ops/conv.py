"""Convolutions and transposed convolutions over one, two and three dimensions.

Three operations, each linear in its two arrays, make a family closed under differentiation:
the derivatives of any one of them are the other two. So derivatives of every order are
exact, and a frozen weight or an input without gradient saves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.layout import as_images
from wengert.ops.batch_fallbacks import folded
from wengert.ops.batching import Batch, Rule
from wengert.ops.broadcasting import expand
from wengert.ops.checks import typed_ints
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.reduction import sum_over
from wengert.ops.shape import movedim, reshape

Ints = int | tuple[int, ...] | list[int]


def _bias_vjp(g: Value) -> Value:
    return sum_over(g, (0, *range(2, g.ndim)))


def _cropped(x: Value, shape: Shape) -> Value:
    """Drop the windows that exist only because of an `output_padding` of a stride or more."""
    if tuple(x.shape[2:]) == tuple(shape[2:]):
        return x
    return x[(slice(None), slice(None), *(slice(0, n) for n in shape[2:]))]


def _per_channel(bias: Value, rank: int) -> Value:
    """A bias, shaped to be added to an output of that rank."""
    return reshape(bias, (*bias.shape, *(1,) * (rank - 2)))


def _side_by_side(x: Value, dim: int, groups: int = 1) -> Value:
    """Merge the batch into dimension `dim`.

    With `groups` it is merged within each group of that dimension.
    """
    size, *shape = x.shape
    if not size:
        raise RuntimeError(
            "non-positive groups is not supported: vmap of a convolution over no samples, with"
            " weights of their own"
        )
    low, high = shape[:dim], shape[dim + 1 :]
    grouped = reshape(x, (size, *low, groups, shape[dim] // groups, *high))
    return reshape(movedim(grouped, 0, dim + 1), (*low, size * shape[dim], *high))


def _samples(x: Value, dim: int, size: int, groups: int = 1) -> Value:
    """The inverse of `_side_by_side`."""
    shape = tuple(x.shape)
    low, high, n = shape[:dim], shape[dim + 1 :], shape[dim] // size
    grouped = reshape(x, (*low, groups, size, n // groups, *high))
    return reshape(movedim(grouped, dim + 1, 0), (size, *low, n, *high))


def _grouped(b: Batch, dims: dict[str, int]) -> Value:
    """A batch as one grouped convolution, in which each sample is a group (or its own `groups`).

    The per-example gradients of Rochette, Manoel and Tramel, "Efficient per-example gradient
    computations in convolutional neural networks" (2019).
    """
    geometry: Geometry = b.params["geometry"]
    inputs = {name: _side_by_side(b.values[name], dim) for name, dim in dims.items()}
    return b(**inputs, geometry=geometry._replace(groups=geometry.groups * b.size))


def _bias_apart(rule: Rule) -> Rule:
    """Extend a rule for calls without bias to calls with one, which is added afterwards."""

    def biased(b: Batch) -> Value:
        if b.values["bias"] is None or b.batched == {"input"}:
            return rule(b)
        plain = Batch(b.op, b.size, {**b.values, "bias": None}, b.batched - {"bias"}, b.params)
        out = rule(plain) if plain.batched else plain()
        bias = reshape(b.whole("bias"), (b.size, 1, *b.shape("bias")))
        return out + _per_channel(bias, b.rank("input"))

    return biased


@_bias_apart
def _convolution_batch(b: Batch) -> Value:
    groups = b.params["geometry"].groups
    if "weight" not in b.batched:
        return folded(1)(b)
    if "input" in b.batched:
        return _samples(_grouped(b, {"input": 1, "weight": 0}), 1, b.size)
    out = b(weight=_side_by_side(b.values["weight"], 0, groups))
    return _samples(out, 1, b.size, groups)


@_bias_apart
def _transposed_batch(b: Batch) -> Value:
    if "weight" not in b.batched:
        return folded(1)(b)
    if "input" in b.batched:
        return _samples(_grouped(b, {"input": 1, "weight": 0}), 1, b.size)
    out = b(weight=_side_by_side(b.values["weight"], 1))
    return _samples(out, 1, b.size, b.params["geometry"].groups)


def _weight_batch(b: Batch) -> Value:
    groups = b.params["geometry"].groups
    if len(b.batched) == 2:
        return _samples(_grouped(b, {"grad": 1, "input": 1}), 0, b.size)
    if "grad" in b.batched:
        out = b(grad=_side_by_side(b.values["grad"], 1, groups))
        return _samples(out, 0, b.size, groups)
    return _samples(b(input=_side_by_side(b.values["input"], 1, groups)), 1, b.size)


def _sum_of_tangents(tangents: list[Value], bias: Value, out: Value) -> Value:
    """The tangent of a convolution: from its two arrays, plus that of the bias."""
    if bias is not None:
        tangents.append(_per_channel(bias, out.ndim))
    total, *others = tangents
    for tangent in others:
        total = total + tangent
    return total if total.shape == out.shape else expand(total, tuple(out.shape))


def _convolution_jvp(
    d_input: Value, d_weight: Value, d_bias: Value,
    input: Value, weight: Value, geometry: Geometry, out: Value,
) -> Value:  # fmt: skip
    calls = ((d_input, weight), (input, d_weight))
    tangents = [_convolution(x, w, geometry) for x, w in calls if x is not None and w is not None]
    return _sum_of_tangents(tangents, d_bias, out)


def _transposed_jvp(
    d_input: Value, d_weight: Value, d_bias: Value,
    input: Value, weight: Value, size: Shape, geometry: Geometry, out: Value,
) -> Value:  # fmt: skip
    tangents = [
        _transposed_convolution(x, w, size, geometry)
        for x, w in ((d_input, weight), (input, d_weight))
        if x is not None and w is not None
    ]
    return _sum_of_tangents(tangents, d_bias, out)


@primitive(
    mixed=False,
    label="ConvolutionBackward0",
    batch=_convolution_batch,
    jvp=_convolution_jvp,
    input=lambda g, weight, input_shape, geometry: _transposed_convolution(
        g, conj(weight), input_shape[2:], geometry
    ),
    weight=lambda g, input, weight_shape, geometry: _convolution_weight(
        g, conj(input), weight_shape[2:], geometry
    ),
    bias=_bias_vjp,
    name="conv",
)
def _convolution(input: Value, weight: Value, geometry: Geometry, bias: Value = None) -> Value:
    return _arranged(kernels.conv.forward(input, weight, geometry, bias), input, weight)


def _arranged(out: Value, input: Value, weight: Value) -> Value:
    """Channels last, if the input or the weight is.

    For 3-D only in float32; for 1-D the weight alone decides.
    """
    if out.ndim == 4:
        return as_images(out, input, weight)
    if out.ndim == 5 and out.dtype == np.float32:
        return as_images(out, input, weight)
    return as_images(out, weight, lines=True) if out.ndim == 3 else np.ascontiguousarray(out)


@primitive(
    mixed=False,
    label="ConvolutionBackward0",
    batch=_transposed_batch,
    jvp=_transposed_jvp,
    input=lambda g, weight, input_shape, geometry: _cropped(
        _convolution(g, conj(weight), geometry), input_shape
    ),
    weight=lambda g, input, weight_shape, geometry: _convolution_weight(
        conj(input), g, weight_shape[2:], geometry
    ),
    bias=_bias_vjp,
    name="conv_transpose",
)
def _transposed_convolution(
    input: Value, weight: Value, size: Shape, geometry: Geometry, bias: Value = None
) -> Value:
    out = kernels.conv.grad_input(input, weight, size, geometry, bias)
    return _arranged(out, input, weight)


@multilinear(
    mixed=False,
    label="ConvolutionBackwardBackward0",
    batch=_weight_batch,
    grad=lambda g, input, grad_shape, geometry: _cropped(
        _convolution(conj(input), g, geometry), grad_shape
    ),
    input=lambda g, grad, input_shape, geometry: _transposed_convolution(
        conj(grad), g, input_shape[2:], geometry
    ),
    name="conv_backward",
)
def _convolution_weight(grad: Value, input: Value, kernel: Shape, geometry: Geometry) -> Value:
    return kernels.conv.grad_weight(grad, input, kernel, geometry)


def _ints(name: str, what: str, value: Ints, n: int) -> Shape:
    """One integer per spatial dimension."""
    values = typed_ints(name, what, value)
    if len(values) not in (1, n):
        raise RuntimeError(
            f"expected {what} to be a single integer value or a list of {n} values to match"
            f" the convolution dimensions, but got {what}={list(values)}"
        )
    return values * (n // len(values))


def _padding(name: str, padding: Ints | str, n: int, reach: Shape) -> tuple[tuple[int, int], ...]:
    """Zeros before and after; `reach` is the extent of the kernel less one."""
    if padding == "valid":
        return ((0, 0),) * n
    if padding == "same":
        return tuple((r // 2, r - r // 2) for r in reach)
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: {padding!r}, expected 'valid' or 'same'")
    pads = _ints(name, "padding", padding, n)
    if min(pads) < 0:
        raise RuntimeError(f"negative padding is not supported, got padding={list(pads)}")
    return tuple((p, p) for p in pads)


def _geometry(
    name: str, kernel: Shape, stride: Ints, padding: Ints | str, dilation: Ints, groups: int
) -> Geometry:
    # Checked here, before the cache, for which True and 2.0 equal 1 and 2.
    pads = padding if isinstance(padding, str) else typed_ints(name, "padding", padding)
    steps, spaces = typed_ints(name, "stride", stride), typed_ints(name, "dilation", dilation)
    return _checked_geometry(name, kernel, steps, pads, spaces, groups)


@lru_cache(maxsize=1024)
def _checked_geometry(
    name: str, kernel: Shape, stride: Ints, padding: Ints | str, dilation: Ints, groups: int
) -> Geometry:
    n = len(kernel)
    steps, spaces = _ints(name, "stride", stride, n), _ints(name, "dilation", dilation, n)
    if min(steps) <= 0:
        raise RuntimeError(f"non-positive stride is not supported, got stride={list(steps)}")
    if min(spaces) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(spaces)}")
    if padding == "same" and max(steps) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    reach = tuple(d * (k - 1) for d, k in zip(spaces, kernel, strict=True))
    return Geometry(steps, _padding(name, padding, n, reach), spaces, groups)


def _check(name: str, n: int, input: Tensor, weight: Tensor, bias: Any, groups: int) -> None:
    """The checks common to a convolution and its transpose."""
    for what, x in (("input", input), ("weight", weight), ("bias", bias)):
        if not isinstance(x, Tensor) and (x is not None or what != "bias"):
            raise TypeError(f"{name}(): argument {what!r} must be Tensor, not {type(x).__name__}")
    if type(groups) is bool or not isinstance(groups, (int, np.integer)):
        raise TypeError(f"{name}(): argument 'groups' must be int, not {type(groups).__name__}")
    x, w = input._outline, weight._outline
    if w.ndim != n + 2:
        raise RuntimeError(f"{name}(): expected {n + 2}D weight, but got size {list(w.shape)}")
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name},"
            f" but got input of size: {list(x.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"non-positive groups is not supported, got groups={groups}")
    if w.shape[0] < groups or w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0,"
            f" but got weight of size {list(w.shape)} instead"
        )
    for other in (w,) if bias is None else (w, bias._outline):
        if other.dtype != x.dtype:
            raise RuntimeError(
                f"expected scalar type {of_numpy[x.dtype].short}"
                f" but found {of_numpy[other.dtype].short} in {name}()"
            )


def _check_channels(prefix: str, weight: Tensor, input: Tensor, n: int, expected: int) -> None:
    channels = input._outline.shape[-n - 1]
    if channels != expected:
        raise RuntimeError(
            f"{prefix}, weight of size {list(weight._outline.shape)}, expected"
            f" input{list(input._outline.shape)} to have {expected} channels,"
            f" but got {channels} channels instead"
        )


def _check_bias(prefix: str, weight: Tensor, bias: Tensor | None, expected: int) -> None:
    if bias is not None and bias._outline.shape != (expected,):
        raise RuntimeError(
            f"{prefix}weight of size {list(weight._outline.shape)}, expected bias to be"
            f" 1-dimensional with {expected} elements, but got bias of size"
            f" {list(bias._outline.shape)} instead"
        )


def _convolve(
    name: str, n: int, input: Tensor, weight: Tensor, bias: Tensor | None,
    stride: Ints, padding: Ints | str, dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    _check(name, n, input, weight, bias, groups)
    shape = weight._outline.shape
    _check_channels(f"Given groups={groups}", weight, input, n, shape[1] * groups)
    _check_bias("Given ", weight, bias, shape[0])
    geometry = _geometry(name, shape[2:], stride, padding, dilation, groups)
    size = input._outline.shape[-n:]
    _check_windows(size, shape[2:], geometry)
    if 0 in size or 0 in shape:
        _check_space(name, input, weight, n)
    if input._outline.ndim == n + 1:
        return _convolution(input.unsqueeze(0), weight, geometry, bias).squeeze(0)
    return _convolution(input, weight, geometry, bias)


def input_gradient(
    n: int, input_size: Sequence[int], weight: Tensor, grad_output: Tensor,
    stride: Ints, padding: Ints | str, dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of a convolution's input, of the given shape, from its output's."""
    name, size = f"conv{n}d_input", tuple(input_size)
    shape = weight._outline.shape
    geometry = _fitting(name, n, size, shape, grad_output, stride, padding, dilation, groups)
    return _transposed_convolution(grad_output, conj(weight), size[2:], geometry)


def weight_gradient(
    n: int, input: Tensor, weight_size: Sequence[int], grad_output: Tensor,
    stride: Ints, padding: Ints | str, dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of a convolution's weight, of the given shape, from its output's."""
    name, shape = f"conv{n}d_weight", tuple(weight_size)
    size = input._outline.shape
    geometry = _fitting(name, n, size, shape, grad_output, stride, padding, dilation, groups)
    return _convolution_weight(grad_output, conj(input), shape[2:], geometry)


def _fitting(
    name: str, n: int, size: Shape, shape: Shape, grad_output: Tensor,
    stride: Ints, padding: Ints | str, dilation: Ints, groups: int,
) -> Geometry:  # fmt: skip
    """The geometry of a convolution; RuntimeError unless its output is shaped as `grad_output`."""
    out_shape, rank = grad_output._outline.shape, n + 2
    if len(size) != rank or len(shape) != rank or size[1] != shape[1] * groups:
        raise RuntimeError(
            f"{name}(): expected {rank}-dimensional sizes of input and weight with"
            f" input_size[1] == weight_size[1] * groups, got {list(size)}, {list(shape)} and"
            f" groups={groups}"
        )
    geometry = _geometry(name, shape[2:], stride, padding, dilation, groups)
    out = (size[0], shape[0], *geometry.out_size(size[2:], shape[2:]))
    if out_shape != out:
        raise RuntimeError(
            f"{name}(): argument 'grad_output' has shape {list(out_shape)}, expected the shape of"
            f" the output, {list(out)}"
        )
    return geometry


@lru_cache(maxsize=1024)
def _check_windows(size: Shape, kernel: Shape, geometry: Geometry) -> None:
    """Raise RuntimeError unless a window fits into the input."""
    if min(geometry.out_size(size, kernel)) > 0:
        return
    padded_size = [n + low + high for n, (low, high) in zip(size, geometry.padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, geometry.dilation, strict=True)]
    raise RuntimeError(
        f"Calculated padded input size per channel: ({' x '.join(map(str, padded_size))})."
        f" Kernel size: ({' x '.join(map(str, reach))})."
        " Kernel size can't be greater than actual input size"
    )


def _convolve_transposed(
    name: str, n: int, input: Tensor, weight: Tensor, bias: Tensor | None,
    stride: Ints, padding: Ints, output_padding: Ints, groups: int, dilation: Ints,
) -> Tensor:  # fmt: skip
    if isinstance(padding, str):
        raise TypeError(f"{name}(): argument 'padding' must be tuple of ints, not str")
    _check(name, n, input, weight, bias, groups)
    shape = weight._outline.shape
    _check_channels("Given transposed=1", weight, input, n, shape[0])
    _check_bias("Given transposed=1, ", weight, bias, shape[1] * groups)
    geometry = _geometry(name, shape[2:], stride, padding, dilation, groups)
    extra = _ints(name, "output_padding", output_padding, n)
    no_batch = input._outline.ndim == n + 2 and not input._outline.shape[0]
    size = _transposed_size(input._outline.shape[-n:], shape[2:], extra, geometry, no_batch)
    if 0 in input._outline.shape or 0 in shape:
        _check_space(name, input, weight, n)
    if input._outline.ndim == n + 1:
        return _transposed_convolution(input.unsqueeze(0), weight, size, geometry, bias).squeeze(0)
    return _transposed_convolution(input, weight, size, geometry, bias)


def _check_space(name: str, input: Tensor, weight: Tensor, n: int) -> None:
    """Raise RuntimeError for an empty kernel, and for samples with an empty spatial dimension."""
    if 0 in weight._outline.shape[2:]:
        raise RuntimeError(
            f"{name}(): weight of size {list(weight._outline.shape)} has no elements"
        )
    shape = input._outline.shape
    if 0 in shape[-n:] and (len(shape) == n + 1 or shape[0]):
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape:"
            f" {list(shape)}"
        )


def _transposed_size(
    size: Shape, kernel: Shape, extra: Shape, geometry: Geometry, no_batch: bool
) -> Shape:
    """The size of the output. As in PyTorch, for an empty batch any non-negative size is valid."""
    stride, padding, dilation, _ = geometry
    if not no_batch and any(
        not 0 <= e < max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)
    ):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got"
            f" output_padding={list(extra)}, stride={list(stride)}, dilation={list(dilation)}"
        )
    out = tuple(
        (n - 1) * s - 2 * low + d * (k - 1) + e + 1
        for n, k, e, s, (low, _), d in zip(
            size, kernel, extra, stride, padding, dilation, strict=True
        )
    )
    if min(out) < (0 if no_batch else 1):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, size))}). Calculated output"
            f" size per channel: ({' x '.join(map(str, out))}). Output size is too small"
        )
    return out


def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolve `input` (batch, in, length) with `weight` (out, in / groups, width).

    The batch dimension may be left out. Raises RuntimeError for shapes that do not fit.

    >>> import wengert
    >>> signal, kernel = wengert.tensor([[1., 2., 4., 8.]]), wengert.tensor([[[-1., 1.]]])
    >>> wengert.nn.functional.conv1d(signal, kernel)
    tensor([[1., 2., 4.]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolve `input` (batch, in, height, width) with `weight` (out, in / groups, height, width).

    `padding` is a number of zeros, ``"same"`` (stride 1 only) or ``"valid"``.

    >>> import wengert
    >>> image, kernel = wengert.ones(1, 1, 4, 4), wengert.ones(1, 1, 3, 3)
    >>> wengert.nn.functional.conv2d(image, kernel, stride=2, padding=1)
    tensor([[[[4., 6.],
              [6., 9.]]]])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolve `input` (batch, in, *space) with `weight` (out, in / groups, *kernel) in 3-D.

    >>> import wengert
    >>> volume, kernel = wengert.ones(1, 1, 2, 2, 2), wengert.ones(1, 1, 2, 2, 2)
    >>> wengert.nn.functional.conv3d(volume, kernel).item()
    8.0
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1,
    padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv1d` in its input: spread every value over a window.

    `weight` is (in, out / groups, width); `output_padding` lengthens the result.

    >>> import wengert
    >>> signal, kernel = wengert.tensor([[1., 2.]]), wengert.tensor([[[1., 10.]]])
    >>> wengert.nn.functional.conv_transpose1d(signal, kernel)
    tensor([[ 1., 12., 20.]])
    """
    return _convolve_transposed(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1,
    padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv2d` in its input; `weight` is (in, out / groups, height, width).

    >>> import wengert
    >>> image, kernel = wengert.ones(1, 1, 2, 2), wengert.ones(1, 1, 2, 2)
    >>> wengert.nn.functional.conv_transpose2d(image, kernel)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _convolve_transposed(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1,
    padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv3d` in its input; `weight` is (in, out / groups, *kernel).

    >>> import wengert
    >>> volume, kernel = wengert.ones(1, 1, 1, 1, 1), wengert.ones(1, 1, 2, 2, 2)
    >>> wengert.nn.functional.conv_transpose3d(volume, kernel, stride=2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _convolve_transposed(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip
FUNCTIONAL = tuple(__all__)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
