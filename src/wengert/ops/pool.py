"""Pooling: maxima, means and power means over windows.

Maxima are computed as positions (only these are saved) and then gathered; the means are
linear maps, each with its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.layout import as_images
from wengert.kernels.precision import narrowed, widened
from wengert.ops.batch_fallbacks import folded
from wengert.ops.batching import leading
from wengert.ops.checks import typed_ints
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.masking import where
from wengert.ops.operands import as_one_call
from wengert.ops.shape import contiguous, dtype_of
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop

Ints = int | tuple[int, ...] | list[int]


class Windows(NamedTuple):
    """The windows of one pooling: their shape, number and geometry."""

    kernel: Shape
    out: Shape
    geometry: Geometry


def _in_batches(find: Callable[..., np.ndarray], x: np.ndarray, n: int, *args: Any) -> np.ndarray:
    """A kernel over (batch, channel, *space), with any dimensions in front of the last `n`."""
    lead, space = x.shape[: x.ndim - n], x.shape[x.ndim - n :]
    if len(lead) == 2:
        return find(x, *args)
    channels = lead[-1] if lead else 1
    results = find(x.reshape(prod(lead[:-1]), channels, *space), *args)
    return results.reshape(*lead, *results.shape[2:])


def _as_images(out: np.ndarray, like: np.ndarray, n: int) -> np.ndarray:
    """As images with a batch dimension; without one, contiguous."""
    return as_images(out, like, lines=True) if out.ndim == n + 2 else np.ascontiguousarray(out)


@primitive(input=None, batch=leading, name="max_pool")
def max_positions(input: Value, windows: Windows) -> Value:
    """The flat position of each window's maximum within the last dimensions."""
    out = _in_batches(kernels.pool.max_positions, widened(input), len(windows.kernel), *windows)
    return _as_images(out, input, len(windows.kernel))


@primitive(input=None, batch=leading, name="adaptive_max_pool")
def region_max_positions(input: Value, size: Shape) -> Value:
    """`max_positions` for the windows of adaptive pooling to an output of that size."""
    out = _in_batches(kernels.pool.region_max_positions, input, len(size), size)
    return _as_images(out, input, len(size))


@multilinear(
    mixed=False,
    batch=leading,
    label="MaxPoolWithIndicesBackward0",
    input=lambda g, indices, input_shape, n: _add_positions(
        g, indices, input_shape[len(input_shape) - n :]
    ),
    indices=None,
    name="max_pool",
)
def take_positions(input: Value, indices: Value, n: int) -> Value:
    """The values at flat positions of the last `n` dimensions."""
    return _as_images(kernels.pool.take_positions(input, indices, n), indices, n)


@multilinear(
    mixed=False,
    batch=leading,
    grad=lambda g, indices, size: take_positions(g, indices, len(size)),
    indices=None,
    name="max_pool_backward",
)
def _add_positions(grad: Value, indices: Value, size: Shape) -> Value:
    wide_grad = widened(grad)
    out = narrowed(kernels.pool.add_positions(wide_grad, indices, size), grad.dtype)
    return _as_images(out, indices, len(size))


@multilinear(
    mixed=False,
    batch=leading,
    label="MaxUnpoolBackward0",
    input=lambda g, indices, size: take_positions(g, indices, len(size)),
    indices=None,
    name="max_unpool",
)
def unpool(input: Value, indices: Value, size: Shape) -> Value:
    """Zeros of that size with the input written at flat positions."""
    wrong = indices[(indices < 0) | (indices >= prod(size))]
    if wrong.size and prod(size):
        raise RuntimeError(
            f"Found an invalid max index: {wrong[0]} (output volumes are of size"
            f" {'x'.join(map(str, size))})"
        )
    out = kernels.pool.put_positions(input, indices, size)
    return _as_images(out, input, 2) if len(size) == 2 else out


def _taken(input: Value, indices: Value, windows: Windows) -> Value:
    """The values at the positions of maxima; the lowest number for windows inside the padding."""
    values = take_positions(input, indices, len(windows.kernel))
    hollow = _hollow(input.shape, windows)
    if hollow is None:
        return values
    return where(hollow[0], kernels.pool.lowest(dtype_of(input)), values)


def _hollow(shape: Shape, windows: Windows) -> Any:
    """See `kernels.pool.hollow_windows`."""
    return kernels.pool.hollow_windows(tuple(shape)[-len(windows.kernel) :], *windows)


def _max_pool_reference(input: Value, windows: Windows) -> Value:
    return _taken(input, max_positions(input, windows), windows)


def _max_pool_vjp(g: Value, indices: Value, input_shape: Shape, windows: Windows) -> Value:
    hollow = _hollow(input_shape, windows)
    if hollow is not None:
        g = drop(g, hollow[0])
    return _add_positions(g, indices, input_shape[len(input_shape) - len(windows.kernel) :])


@primitive(
    mixed=False,
    aux=("indices",),
    reference=_max_pool_reference,
    label="MaxPoolWithIndicesBackward0",
    input=_max_pool_vjp,
    name="max_pool",
)
def maxima(input: Value, windows: Windows) -> Value:
    """The maximum of each window, of an input with a batch dimension."""
    out, indices = kernels.pool.max_pool(input, *windows)
    return as_images(out, input, lines=True), as_images(indices, input, lines=True)


def _as_pictures(out: np.ndarray, input: np.ndarray) -> np.ndarray:
    """Like images, except that volumes are contiguous."""
    return np.ascontiguousarray(out) if out.ndim == 5 else as_images(out, input, lines=True)


@multilinear(
    batch=folded(1),
    label="AvgPoolBackward0",
    input=lambda g, input_shape, windows, divisor: _window_spread(
        g, input_shape[2:], windows, divisor
    ),
    name="avg_pool",
)
def window_mean(input: Value, windows: Windows, divisor: Any) -> Value:
    """The sum of each window divided by `divisor`, a number or counts by position."""
    wide_input = widened(input)
    out = narrowed(kernels.pool.window_sum(wide_input, *windows) / divisor, input.dtype)
    return _as_pictures(out, input)


@multilinear(
    batch=folded(1),
    input=lambda g, windows, divisor: window_mean(g, windows, divisor),
    name="avg_pool_backward",
)
def _window_spread(input: Value, size: Shape, windows: Windows, divisor: Any) -> Value:
    wide_input = widened(input)
    spread = kernels.pool.window_spread(
        wide_input / divisor, windows.kernel, size, windows.geometry
    )
    return _as_pictures(narrowed(spread, input.dtype), input)


def ints_of(name: str, what: str, value: Any, n: int) -> Shape:
    """One integer per spatial dimension."""
    return _one_each(name, what, typed_ints(name, what, value), n)


def _one_each(name: str, what: str, values: Shape, n: int) -> Shape:
    if len(values) not in (1, n):
        raise RuntimeError(
            f"{name}: {what} must either be a single int, or a tuple of {n} ints, got {values}"
        )
    return values * (n // len(values))


def _out_size(
    size: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool
) -> Shape:
    out = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        # With ceil_mode a window may overhang the padded input, but must not begin beyond it.
        out.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
    return tuple(out)


class _Given(NamedTuple):
    """The arguments of a pooling, an integer for each spatial dimension."""

    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape


def _given(
    name: str, n: int, kernel_size: Ints, stride: Any, padding: Ints, dilation: Ints = 1
) -> _Given:
    """The arguments as integers: checks first all types, then all lengths."""
    if stride is None or stride == () or stride == []:
        stride = kernel_size
    if type(kernel_size) is type(stride) is type(padding) is type(dilation) is int:
        return _Given((kernel_size,) * n, (stride,) * n, (padding,) * n, (dilation,) * n)
    named = (
        ("kernel_size", kernel_size), ("stride", stride), ("padding", padding),
        ("dilation", dilation),
    )  # fmt: skip
    sizes = [(what, typed_ints(name, what, value)) for what, value in named]
    return _Given(*[_one_each(name, what, values, n) for what, values in sizes])


@lru_cache(maxsize=1024)
def _windows(name: str, size: Shape, sizes: _Given, ceil_mode: bool) -> Windows:
    """The checked windows of a pooling."""
    kernel, steps, pads, spaces = sizes
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}() kernel_size must be greater than zero, but got {kernel}")
    if min(steps) <= 0:
        raise RuntimeError(f"stride should not be zero or negative in {name}(), but got {steps}")
    if min(spaces) <= 0:
        raise RuntimeError(f"dilation should be greater than zero in {name}(), but got {spaces}")
    for p, k in zip(pads, kernel, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(
                f"{name}() pad should be at most half of kernel size, but got padding={p} and"
                f" kernel_size={k}"
            )
    out = _out_size(size, kernel, steps, pads, spaces, ceil_mode)
    if min(out) <= 0:
        raise RuntimeError(
            f"Given input size: {list(size)}. Calculated output size: {list(out)} in {name}()."
            " Output size is too small"
        )
    # Windows may end before the padded input does, and with ceil_mode beyond it.
    ends = [
        (o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(out, steps, spaces, kernel, strict=True)
    ]
    after = [max(e - m - p, 0) for e, m, p in zip(ends, size, pads, strict=True)]
    both = tuple(zip(pads, after, strict=True))
    return Windows(kernel, out, Geometry(steps, both, spaces))


def space_of(name: str, input: Tensor, n: int, lengthy: range | None = None) -> Shape:
    """The spatial size of an input with or without a batch dimension.

    `lengthy` are the dimensions that must not be empty, by default all but the first.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    shape = input._outline.shape
    if len(shape) not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor for input,"
            f" but got: {list(shape)}"
        )
    if not all([shape[d] for d in lengthy or range(1, len(shape))]):
        raise RuntimeError(
            f"{name}: Expected non-empty dimensions (but the batch) of input, got {list(shape)}"
        )
    return shape[-n:]


def batched(function: Callable[..., Any], input: Tensor, n: int, *args: Any) -> Tensor:
    """Apply `function` to the input, with a batch dimension added during the call if needed."""
    if input._outline.ndim == n + 1:
        return function(input.unsqueeze(0), *args).squeeze(0)
    return function(input, *args)


def _max_pool(
    name: str, n: int, input: Tensor, kernel_size: Ints, stride: Any, padding: Ints,
    dilation: Ints, ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    if (level := as_one_call(input)) is not None:
        function = (max_pool1d, max_pool2d, max_pool3d)[n - 1]
        args = (input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        return level.call(function, args, {})
    sizes = _given(name, n, kernel_size, stride, padding, dilation)
    size = space_of(name, input, n, range(-n - 1, 0))
    windows = _windows(name, size, sizes, bool(ceil_mode))
    if not return_indices:
        result = batched(maxima, input, n, windows)
        # PyTorch takes a different path if no gradient is needed.
        return contiguous(result) if n == 1 and not result.requires_grad else result
    indices = max_positions(input, windows)
    values = _taken(input, indices, windows)
    hollow = _hollow(size, windows)
    return values, indices if hollow is None else where(hollow[0], hollow[1], indices)


def max_pool1d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of the last dimension; optionally its index.

    >>> import wengert
    >>> wengert.nn.functional.max_pool1d(wengert.tensor([[1., 3., 2., 5.]]), 2)
    tensor([[3., 5.]])
    """
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode,
                     return_indices)  # fmt: skip


def max_pool2d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of the last two dimensions.

    With `return_indices` also its position, flat within the plane.

    >>> import wengert
    >>> x = wengert.arange(16.).reshape(1, 4, 4)
    >>> wengert.nn.functional.max_pool2d(x, 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode,
                     return_indices)  # fmt: skip


def max_pool3d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of the last three dimensions.

    >>> import wengert
    >>> wengert.nn.functional.max_pool3d(wengert.arange(8.).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode,
                     return_indices)  # fmt: skip


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d` with indices, whatever `return_indices` says.

    >>> import wengert
    >>> wengert.nn.functional.max_pool1d_with_indices(wengert.tensor([[1., 3., 2., 5.]]), 2)
    (tensor([[3., 5.]]), tensor([[1, 3]]))
    """
    result: tuple[Tensor, Tensor] = max_pool1d(
        input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return result


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool2d` with indices, whatever `return_indices` says.

    >>> import wengert
    >>> wengert.nn.functional.max_pool2d_with_indices(wengert.tensor([[[1., 3.]]]), (1, 2))
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    result: tuple[Tensor, Tensor] = max_pool2d(
        input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return result


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool3d` with indices, whatever `return_indices` says.

    >>> import wengert
    >>> wengert.nn.functional.max_pool3d_with_indices(wengert.ones(1, 1, 1, 2), (1, 1, 2))
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """
    result: tuple[Tensor, Tensor] = max_pool3d(
        input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return result


@lru_cache(maxsize=512)
def _divisor(
    size: Shape, windows: Windows, count_include_pad: bool, divisor_override: int | None
) -> Any:
    """The divisor of each window's sum: a number, or float32 counts by position.

    The overhang of `ceil_mode` is never counted.
    """
    if divisor_override is not None:
        return divisor_override
    stride, padding = windows.geometry.stride, windows.geometry.padding
    total = np.ones((), np.float32)
    for d, (n, k, s, (low, _)) in enumerate(
        zip(size, windows.kernel, stride, padding, strict=True)
    ):
        start = np.arange(windows.out[d]) * s - low
        stop = np.minimum(start + k, n + low)
        if not count_include_pad:
            start, stop = np.maximum(start, 0), np.minimum(stop, n)
        count = (stop - start).astype(np.float32)
        total = total * count.reshape(-1, *(1,) * (len(size) - d - 1))
    return float(total.flat[0]) if (total == total.flat[0]).all() else total


def _avg_pool(
    name: str, n: int, input: Tensor, kernel_size: Ints, stride: Any, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    if (level := as_one_call(input)) is not None:
        function = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]
        options = {} if divisor_override is None else {"divisor_override": divisor_override}
        args = (input, kernel_size, stride, padding, ceil_mode, count_include_pad)
        return level.call(function, args, options)
    sizes = _given(name, n, kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero, got divisor_override=0")
    if n == 2 and isinstance(input, Tensor) and input.ndim < 3:
        raise IndexError(
            f"{name}(): Dimension out of range (expected a tensor of 3 or 4 dimensions, but got"
            f" shape {list(input.shape)})"
        )
    size = space_of(name, input, n, range(-n - 1, 0))
    windows = _windows(name, size, sizes, bool(ceil_mode))
    if n == 3 and any(m < k for m, k in zip(size, sizes.kernel, strict=True)):
        raise RuntimeError(
            f"{name}(): input image of size {list(size)} smaller than kernel size"
            f" {list(sizes.kernel)}"
        )
    divisor = _divisor(size, windows, count_include_pad, divisor_override)
    return batched(window_mean, input, n, windows, divisor)


def avg_pool1d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last dimension.

    >>> import wengert
    >>> wengert.nn.functional.avg_pool1d(wengert.tensor([[1., 3., 2., 4.]]), 2)
    tensor([[2., 3.]])
    """
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode,
                     count_include_pad)  # fmt: skip


def avg_pool2d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last two dimensions.

    >>> import wengert
    >>> x = wengert.arange(16.).reshape(1, 4, 4)
    >>> wengert.nn.functional.avg_pool2d(x, 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return _avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode,
                     count_include_pad, divisor_override)  # fmt: skip


def avg_pool3d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last three dimensions.

    >>> import wengert
    >>> wengert.nn.functional.avg_pool3d(wengert.arange(8.).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return _avg_pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode,
                     count_include_pad, divisor_override)  # fmt: skip


def _power_pool(
    name: str, n: int, input: Tensor, norm_type: float, kernel_size: Ints, stride: Any,
    ceil_mode: bool,
) -> Tensor:  # fmt: skip
    if isinstance(kernel_size, (tuple, list)) and (n == 1 or len(kernel_size) != n):
        raise (TypeError if n == 1 else ValueError)(
            f"{name}: kernel_size must be a single int{f', or a tuple of {n}' if n > 1 else ''},"
            f" got {tuple(kernel_size)}"
        )
    mean = _avg_pool(name, n, input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True)
    count = prod(ints_of(name, "kernel_size", kernel_size, n))
    return (mean.sign() * mean.abs() * count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The `norm_type`-norm of each window of the last dimension.

    >>> import wengert
    >>> wengert.nn.functional.lp_pool1d(wengert.tensor([[3., 4.]]), 2, 2)
    tensor([[5.]])
    """
    require_tensor("lp_pool1d", "input", input)
    return _power_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The `norm_type`-norm of each window of the last two dimensions.

    >>> import wengert
    >>> wengert.nn.functional.lp_pool2d(wengert.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    require_tensor("lp_pool2d", "input", input)
    return _power_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The `norm_type`-norm of each window of the last three dimensions.

    >>> import wengert
    >>> wengert.nn.functional.lp_pool3d(wengert.tensor([[[[3., 4.]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    require_tensor("lp_pool3d", "input", input)
    return _power_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


__all__ = ["avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d"]
FUNCTIONAL = (
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices",
)  # fmt: skip
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
