"""``theano.tensor.nnet.abstract_conv``: convolutions, what is made of them, and their shapes."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.structure import concatenate, reshape
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.tensor.nnet.convolutions import AbstractConv as AbstractConv
from wengert.symbolic.tensor.nnet.convolutions import (
    AbstractConv2d_gradInputs as AbstractConv2d_gradInputs,
)
from wengert.symbolic.tensor.nnet.convolutions import (
    AbstractConv2d_gradWeights as AbstractConv2d_gradWeights,
)
from wengert.symbolic.tensor.nnet.convolutions import (
    AbstractConv3d_gradInputs as AbstractConv3d_gradInputs,
)
from wengert.symbolic.tensor.nnet.convolutions import (
    AbstractConv3d_gradWeights as AbstractConv3d_gradWeights,
)
from wengert.symbolic.tensor.nnet.convolutions import AbstractConvInputs as AbstractConvInputs
from wengert.symbolic.tensor.nnet.convolutions import AbstractConvWeights as AbstractConvWeights
from wengert.symbolic.tensor.nnet.convolutions import Window as Window
from wengert.symbolic.tensor.nnet.convolutions import bilinear_kernel_1D as bilinear_kernel_1D
from wengert.symbolic.tensor.nnet.convolutions import bilinear_kernel_2D as bilinear_kernel_2D
from wengert.symbolic.tensor.nnet.convolutions import conv2d as conv2d
from wengert.symbolic.tensor.nnet.convolutions import (
    conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs,
)
from wengert.symbolic.tensor.nnet.convolutions import (
    conv2d_grad_wrt_weights as conv2d_grad_wrt_weights,
)
from wengert.symbolic.tensor.nnet.convolutions import conv2d_transpose as conv2d_transpose
from wengert.symbolic.tensor.nnet.convolutions import conv3d as conv3d
from wengert.symbolic.tensor.nnet.convolutions import separable_conv2d as separable_conv2d


def conv3d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any,
                           filter_shape: Any = None, border_mode: Any = "valid",
                           subsample: Any = (1, 1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1, 1), num_groups: int = 1
                           ) -> Any:  # fmt: skip
    """The gradient of the volumes of `conv3d`; also the transposed convolution."""
    window = Window(3, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    listed = isinstance(input_shape, list | tuple)
    sizes = [as_tensor_variable(n) for n in input_shape[-3:]] if listed else input_shape
    return AbstractConvInputs(window)(filters, output_grad, sizes)


def conv3d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any,
                            input_shape: Any = None, border_mode: Any = "valid",
                            subsample: Any = (1, 1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1, 1), num_groups: int = 1
                            ) -> Any:  # fmt: skip
    """The gradient of the filters of `conv3d`."""
    window = Window(3, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    return AbstractConvWeights(window)(input, output_grad, filter_shape)


def separable_conv3d(input: Any, depthwise_filters: Any, pointwise_filters: Any,
                     num_channels: int, input_shape: Any = None,
                     depthwise_filter_shape: Any = None, pointwise_filter_shape: Any = None,
                     border_mode: Any = "valid", subsample: Any = (1, 1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1, 1)
                     ) -> Any:  # fmt: skip
    """A convolution of each channel of volumes, and then one of single points."""
    out = conv3d(
        input, depthwise_filters, border_mode=border_mode, subsample=subsample,
        filter_flip=filter_flip, filter_dilation=filter_dilation, num_groups=num_channels,
    )  # fmt: skip
    return conv3d(out, pointwise_filters, filter_flip=filter_flip)


def causal_conv1d(input: Any, filters: Any, filter_shape: Any, input_shape: Any = None,
                  subsample: int = 1, filter_flip: bool = True, filter_dilation: int = 1,
                  num_groups: int = 1, unshared: bool = False) -> Any:  # fmt: skip
    """A convolution of sequences, whose result sees no later element.

    Args:
        input: sequences of (batch, channels, length).
        filters: of (outputs, channels, length).
        filter_shape: the shape of `filters`; its length has to be a number.

    Raises ValueError for other numbers of dimensions.
    """
    x, w = as_tensor_variable(input), as_tensor_variable(filters)
    for what, v in (("input", x), ("filters", w)):
        if v.ndim != 3:
            raise ValueError(f"causal_conv1d: {what} should be 3D, and {v} is {v.type}")
    before = filter_dilation * (int(filter_shape[2]) - 1)
    out = conv2d(
        x.dimshuffle(0, 1, 2, "x"), w.dimshuffle(0, 1, 2, "x"), border_mode=((before, 0), 0),
        subsample=(subsample, 1), filter_flip=filter_flip, filter_dilation=(filter_dilation, 1),
        num_groups=num_groups, unshared=unshared,
    )  # fmt: skip
    return index(out, (slice(None), slice(None), slice(None), 0))


def bilinear_upsampling(input: Any, ratio: int | None = None, frac_ratio: Any = None,
                        batch_size: Any = None, num_input_channels: Any = None,
                        use_1D_kernel: bool = True) -> Any:  # noqa: N803  # fmt: skip
    """Images of (batch, channels, rows, columns), `ratio` times as large, by interpolation.

    Borders are repeated. Raises ValueError without a ratio, and NotImplementedError for
    `frac_ratio`.
    """
    if frac_ratio is not None:
        raise NotImplementedError("bilinear_upsampling(frac_ratio=...)")
    if ratio is None:
        raise ValueError("bilinear_upsampling: ratio is missing")
    x = as_tensor_variable(input)
    rows, columns = x.shape[2], x.shape[3]
    images = reshape(x, (-1, 1, rows, columns), 4)
    for axis in (2, 3):
        lead = (slice(None),) * axis
        first, last = (index(images, (*lead, s)) for s in (slice(None, 1), slice(-1, None)))
        images = concatenate([first, images, last], axis)
    border = 2 * ratio - (ratio - 1) // 2 - 1
    out = conv2d_grad_wrt_inputs(
        images, bilinear_kernel_2D(ratio).dimshuffle("x", "x", 0, 1),
        (None, 1, rows * ratio, columns * ratio), border_mode=(border, border),
        subsample=(ratio, ratio),
    )  # fmt: skip
    return reshape(out, (x.shape[0], x.shape[1], rows * ratio, columns * ratio), 4)


def get_conv_shape_1axis(image_shape: Any, kernel_shape: Any, border_mode: Any, subsample: Any,
                         dilation: Any = 1) -> Any:  # fmt: skip
    """The length of a convolution's result in one direction; None if something is unknown.

    >>> from wengert.symbolic.tensor.nnet.abstract_conv import get_conv_shape_1axis
    >>> get_conv_shape_1axis(9, 3, "half", 2)
    5
    """
    if any(v is None for v in (image_shape, kernel_shape, border_mode, subsample, dilation)):
        return None
    extent = (kernel_shape - 1) * dilation + 1
    named = {"half": extent // 2, "full": extent - 1, "valid": 0}
    if isinstance(border_mode, tuple):
        before, after = border_mode
    else:
        before = after = named[border_mode] if isinstance(border_mode, str) else border_mode
    if not isinstance(border_mode, str) and min(before, after) < 0:
        raise ValueError(f"border_mode must be >= 0, got {border_mode!r}")
    return (image_shape - extent + before + after) // subsample + 1


def get_conv_output_shape(image_shape: Any, kernel_shape: Any, border_mode: Any, subsample: Any,
                          filter_dilation: Any = None) -> tuple[Any, ...]:  # fmt: skip
    """The shape of a convolution's result, for the shapes of images and filters.

    >>> from wengert.symbolic.tensor.nnet.abstract_conv import get_conv_output_shape
    >>> get_conv_output_shape((2, 3, 9, None), (4, 3, 3, 3), "half", (2, 2))
    (2, 4, 5, None)
    """
    rank = len(image_shape) - 2
    dilation = (1,) * rank if filter_dilation is None else filter_dilation
    borders = border_mode if isinstance(border_mode, tuple) else (border_mode,) * rank
    lengths = [
        get_conv_shape_1axis(*axis)
        for axis in zip(image_shape[2:], kernel_shape[2:], borders, subsample, dilation,
                        strict=True)
    ]  # fmt: skip
    return (image_shape[0], kernel_shape[0], *lengths)
