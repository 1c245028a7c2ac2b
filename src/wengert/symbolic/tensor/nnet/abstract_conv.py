"""``theano.tensor.nnet.abstract_conv``: convolutions, what is made of them, and their shapes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from wengert.symbolic.expressions.arithmetic import cast, eq, true_div
from wengert.symbolic.expressions.asserting import Assert
from wengert.symbolic.expressions.creation import arange
from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.shapes import number_in
from wengert.symbolic.expressions.structure import concatenate, reshape, stack
from wengert.symbolic.expressions.type import as_tensor_variable, constant
from wengert.symbolic.graph import Variable
from wengert.symbolic.settings import config
from wengert.symbolic.tensor.nnet import unshared as _own
from wengert.symbolic.tensor.nnet.conv_shapes import *  # noqa: F403
from wengert.symbolic.tensor.nnet.convolutions import AbstractConv as AbstractConv
from wengert.symbolic.tensor.nnet.convolutions import AbstractConvInputs as AbstractConvInputs
from wengert.symbolic.tensor.nnet.convolutions import AbstractConvWeights as AbstractConvWeights
from wengert.symbolic.tensor.nnet.convolutions import Window as Window


def _convolved(window: Window, input: Any, filters: Any) -> Any:
    return AbstractConv(window)(input, filters)


def assert_shape(x: Any, expected_shape: Any, msg: str = "Unexpected shape.") -> Any:
    """`x`, whose shape is checked if `config.conv.assert_shape` is set.

    Args:
        x: a variable.
        expected_shape: lengths, None where nothing is known, or None.
        msg: what the AssertionError says.
    """
    if expected_shape is None or not config.conv.assert_shape:
        return x
    x = as_tensor_variable(x)
    conditions = [eq(x.shape[d], n) for d, n in enumerate(expected_shape) if n is not None]
    return Assert(msg)(x, *conditions) if conditions else x


def _given(x: Any, shape: Any, what: str) -> Any:
    """An argument of a convolution, its shape checked against what is known of it."""
    return assert_shape(as_tensor_variable(x), shape, f"Unexpected shape of {what}: not {shape}")


def _last(shape: Any, rank: int) -> Any:
    """The lengths of spatial dimensions, which are the last of a shape."""
    if not isinstance(shape, list | tuple):
        vector = as_tensor_variable(shape)[-rank:]
        shape = [vector[k] for k in range(rank)]
    return [as_tensor_variable(n) for n in shape[-rank:]]


def _of_inputs(window: Window, filters: Any, gradient: Any, shape: Any, unshared: bool) -> Any:
    sizes = _last(shape, window.rank)
    if unshared:
        return _own.of_inputs(window, filters, gradient, stack(sizes))
    return AbstractConvInputs(window)(filters, gradient, sizes)


def _of_weights(window: Window, input: Any, gradient: Any, shape: Any, unshared: bool) -> Any:
    sizes = _last(shape, window.rank)
    if unshared:
        return _own.of_weights(window, input, gradient, stack(sizes))
    return AbstractConvWeights(window)(input, gradient, sizes)


def conv2d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None,
           border_mode: Any = "valid", subsample: Any = (1, 1), filter_flip: bool = True,
           image_shape: Any = None, filter_dilation: Any = (1, 1), num_groups: int = 1,
           unshared: bool = False, **options: Any) -> Any:  # fmt: skip
    """Filters, mirrored unless `filter_flip` is False, laid over images.

    Args:
        input: images of (batch, channels, rows, columns).
        filters: of (outputs, channels, rows, columns).
        input_shape, filter_shape: what is known of the shapes; not needed.
        border_mode: "valid", "full", "half", or how many zeros stand around the images.
        subsample, filter_dilation: as `stride` and `dilation` elsewhere.
        num_groups: channels are in so many groups, each with filters of its own.
        unshared: there are filters for each place of the result: (outputs, output rows, output
            columns, channels, rows, columns).

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x, w = T.dtensor4(), T.dtensor4()
    >>> f = function([x, w], T.nnet.conv2d(x, w))
    >>> f(np.arange(3.0).reshape(1, 1, 1, 3), np.array([[[[1.0, 10.0]]]])).ravel()
    array([ 1., 12.])
    """
    if options:
        raise TypeError(f"conv2d: unknown arguments {sorted(options)}")
    window = Window(2, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    input = _given(input, image_shape if input_shape is None else input_shape, "input")
    filters = _given(filters, filter_shape, "filters")
    return (_own.convolved if unshared else _convolved)(window, input, filters)


def conv3d(input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None,
           border_mode: Any = "valid", subsample: Any = (1, 1, 1), filter_flip: bool = True,
           filter_dilation: Any = (1, 1, 1), num_groups: int = 1) -> Any:  # fmt: skip
    """As `conv2d`, with three spatial dimensions."""
    window = Window(3, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    input = _given(input, input_shape, "input")
    return _convolved(window, input, _given(filters, filter_shape, "filters"))


def conv2d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any,
                           filter_shape: Any = None, border_mode: Any = "valid",
                           subsample: Any = (1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1), num_groups: int = 1,
                           unshared: bool = False) -> Any:  # fmt: skip
    """The gradient of the images of `conv2d`; also the transposed convolution."""
    window = Window(2, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    filters = _given(filters, filter_shape, "filters")
    return _of_inputs(window, filters, output_grad, input_shape, unshared)


def conv2d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any,
                            input_shape: Any = None, border_mode: Any = "valid",
                            subsample: Any = (1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1), num_groups: int = 1,
                            unshared: bool = False) -> Any:  # fmt: skip
    """The gradient of the filters of `conv2d`."""
    window = Window(2, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    input = _given(input, input_shape, "input")
    return _of_weights(window, input, output_grad, filter_shape, unshared)


def conv2d_transpose(input: Any, filters: Any, output_shape: Any, filter_shape: Any = None,
                     border_mode: Any = "valid", input_dilation: Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
                     unshared: bool = False) -> Any:  # fmt: skip
    """The transposed convolution: `input_dilation` is the step of the convolution it transposes."""
    return conv2d_grad_wrt_inputs(
        input, filters, output_shape, filter_shape, border_mode, input_dilation, filter_flip,
        filter_dilation, num_groups, unshared,
    )  # fmt: skip


def separable_conv2d(input: Any, depthwise_filters: Any, pointwise_filters: Any,
                     num_channels: int, input_shape: Any = None,
                     depthwise_filter_shape: Any = None, pointwise_filter_shape: Any = None,
                     border_mode: Any = "valid", subsample: Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: Any = (1, 1)) -> Any:  # fmt: skip
    """A convolution of each channel, and then one of single points."""
    out = conv2d(
        input, depthwise_filters, border_mode=border_mode, subsample=subsample,
        filter_flip=filter_flip, filter_dilation=filter_dilation, num_groups=num_channels,
    )  # fmt: skip
    return conv2d(out, pointwise_filters, filter_flip=filter_flip)


def conv3d_grad_wrt_inputs(output_grad: Any, filters: Any, input_shape: Any,
                           filter_shape: Any = None, border_mode: Any = "valid",
                           subsample: Any = (1, 1, 1), filter_flip: bool = True,
                           filter_dilation: Any = (1, 1, 1), num_groups: int = 1
                           ) -> Any:  # fmt: skip
    """The gradient of the volumes of `conv3d`; also the transposed convolution."""
    window = Window(3, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    return _of_inputs(window, filters, output_grad, input_shape, False)


def conv3d_grad_wrt_weights(input: Any, output_grad: Any, filter_shape: Any,
                            input_shape: Any = None, border_mode: Any = "valid",
                            subsample: Any = (1, 1, 1), filter_flip: bool = True,
                            filter_dilation: Any = (1, 1, 1), num_groups: int = 1
                            ) -> Any:  # fmt: skip
    """The gradient of the filters of `conv3d`."""
    window = Window(3, border_mode, subsample, filter_dilation, filter_flip, num_groups)
    return _of_weights(window, input, output_grad, filter_shape, False)


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

    Args:
        input: the images; their borders are repeated.
        ratio: how many times as large, a number.
        frac_ratio: the same as a fraction (p, q), or as one for rows and one for columns.
        batch_size, num_input_channels, use_1D_kernel: accepted.

    Raises ValueError unless there is a ratio or a fraction.

    >>> from wengert.symbolic import tensor as T
    >>> x = T.dtensor4("x")
    >>> y = T.nnet.abstract_conv.bilinear_upsampling(x, frac_ratio=((1, 1), (3, 2)))
    >>> y.eval({x: [[[[0.0, 3.0]]]]}).ravel()
    array([0., 1., 3.])
    """
    if frac_ratio is not None:
        return frac_bilinear_upsampling(input, frac_ratio)
    if ratio is None:
        raise ValueError("bilinear_upsampling: ratio is missing")
    return _enlarged(as_tensor_variable(input), (ratio, ratio))


def frac_bilinear_upsampling(input: Any, frac_ratio: Any) -> Any:
    """As `bilinear_upsampling`, by a fraction, or one for rows and one for columns."""
    if not isinstance(frac_ratio, tuple) or len(frac_ratio) != 2:
        raise ValueError(f"frac_ratio is a pair of numbers or of such pairs, got {frac_ratio!r}")
    pairs = frac_ratio if isinstance(frac_ratio[0], tuple) else (frac_ratio, frac_ratio)
    rows, columns = (Fraction(int(p), int(q)) for p, q in pairs)
    large = _enlarged(as_tensor_variable(input), (rows.numerator, columns.numerator))
    steps = [slice(None, None, fraction.denominator) for fraction in (rows, columns)]
    return index(large, (slice(None), slice(None), *steps))


def _enlarged(x: Any, ratios: tuple[int, int]) -> Any:
    shape = [x.shape[2], x.shape[3]]
    images = reshape(x, (-1, 1, *shape), 4)
    for axis in (2, 3):
        lead = (slice(None),) * axis
        first, last = (index(images, (*lead, s)) for s in (slice(None, 1), slice(-1, None)))
        images = concatenate([first, images, last], axis)
    borders = tuple([2 * ratio - (ratio - 1) // 2 - 1 for ratio in ratios])
    size = [n * ratio for n, ratio in zip(shape, ratios, strict=True)]
    out = conv2d_grad_wrt_inputs(
        images, bilinear_kernel_2D(ratios).dimshuffle("x", "x", 0, 1), (None, 1, *size),
        border_mode=borders, subsample=ratios,
    )  # fmt: skip
    return reshape(out, (x.shape[0], x.shape[1], *size), 4)


def _check_known(what: str, shape: Any) -> None:
    """ValueError unless a shape is None or has numbers and None alone."""
    known = shape is None or (isinstance(shape, tuple | list) and all(
        n is None or number_in(as_tensor_variable(n)) is not None for n in shape
    ))  # fmt: skip
    if not known:
        raise ValueError(f"{what} should be None or a tuple of constant int values, got {shape}")


class _AsOperation:
    """A convolution as programs make it: with a window, then called with variables."""

    rank = 2

    def __init__(self, imshp: Any = None, kshp: Any = None, border_mode: Any = "valid",
                 subsample: Any = 1, filter_flip: bool = True, filter_dilation: Any = 1,
                 num_groups: int = 1, unshared: bool = False) -> None:  # fmt: skip
        for what, shape in (("imshp", imshp), ("kshp", kshp)):
            _check_known(what, shape)
        self.window = Window(self.rank, border_mode, subsample, filter_dilation, filter_flip,
                             num_groups)  # fmt: skip
        self.unshared = unshared


class AbstractConv2d(_AsOperation):
    """`conv2d`: called with images and filters."""

    def __call__(self, img: Any, kern: Any) -> Any:
        return (_own.convolved if self.unshared else _convolved)(self.window, img, kern)


class AbstractConv2d_gradInputs(_AsOperation):  # noqa: N801
    """The adjoint in images: called with filters, gradient and size."""

    def __call__(self, kern: Any, topgrad: Any, shape: Any, add_assert_shape: bool = True) -> Any:
        return _of_inputs(self.window, kern, topgrad, shape, self.unshared)


class AbstractConv2d_gradWeights(_AsOperation):  # noqa: N801
    """The adjoint in filters: called with images, gradient and size."""

    def __call__(self, img: Any, topgrad: Any, shape: Any, add_assert_shape: bool = True) -> Any:
        return _of_weights(self.window, img, topgrad, shape, self.unshared)


class AbstractConv3d(AbstractConv2d):
    """`conv3d`: called with volumes and filters."""

    rank = 3


class AbstractConv3d_gradInputs(AbstractConv2d_gradInputs):  # noqa: N801
    """The adjoint in volumes."""

    rank = 3


class AbstractConv3d_gradWeights(AbstractConv2d_gradWeights):  # noqa: N801
    """The adjoint in filters of volumes."""

    rank = 3


def bilinear_kernel_1D(ratio: Any, normalize: bool = True) -> Any:  # noqa: N802
    """The weights of linear interpolation at every `ratio`-th point."""
    if isinstance(ratio, Variable):
        rising = concatenate([arange(1, ratio), arange(ratio, 0, -1)])
        return cast(true_div(rising, ratio) if normalize else rising, "floatX")
    steps = np.concatenate([np.arange(1, ratio), np.arange(ratio, 0, -1)]).astype(np.float64)
    return constant(steps / ratio if normalize else steps, dtype="floatX")


def bilinear_kernel_2D(ratio: Any, normalize: bool = True) -> Any:  # noqa: N802
    """The weights of bilinear interpolation; `ratio` may be one for rows and one for columns."""
    ratios = ratio if isinstance(ratio, tuple) else (ratio, ratio)
    rows, columns = (bilinear_kernel_1D(r, normalize) for r in ratios)
    return rows.dimshuffle(0, "x") * columns.dimshuffle("x", 0)
