"""The shapes of convolutions, as far as they are known; lengths are numbers, variables or None."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.arithmetic import ge, gt
from wengert.symbolic.expressions.shapes import NotScalarConstantError, get_scalar_constant_value
from wengert.symbolic.tensor.opt import Assert


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


def _borders(border_mode: Any, rank: int) -> Any:
    return border_mode if isinstance(border_mode, tuple) else (border_mode,) * rank


def _sides(border_mode: Any, extent: Any) -> tuple[Any, Any]:
    """How many zeros stand before and after images, for filters that extend so far."""
    if isinstance(border_mode, str):
        width = {"half": extent // 2, "full": extent - 1, "valid": 0}[border_mode]
        return width, width
    before, after = border_mode if isinstance(border_mode, tuple) else (border_mode, border_mode)
    if min(before, after) < 0:
        raise ValueError(f"border_mode must be >= 0, got {border_mode!r}")
    return before, after


def get_conv_gradinputs_shape_1axis(kernel_shape: Any, top_shape: Any, border_mode: Any,
                                    subsample: Any, dilation: Any) -> Any:  # fmt: skip
    """The length of images in one direction; None for steps of more than 1, as it is not known.

    >>> from wengert.symbolic.tensor.nnet.abstract_conv import get_conv_gradinputs_shape_1axis
    >>> get_conv_gradinputs_shape_1axis(3, 7, "valid", 1, 1)
    9
    """
    if any(v is None for v in (kernel_shape, top_shape, border_mode, subsample, dilation)):
        return None
    if subsample != 1:
        return None
    extent = (kernel_shape - 1) * dilation + 1
    before, after = _sides(border_mode, extent)
    return top_shape + extent - 1 - before - after


def get_conv_gradinputs_shape(kernel_shape: Any, top_shape: Any, border_mode: Any, subsample: Any,
                              filter_dilation: Any = None, num_groups: int = 1
                              ) -> tuple[Any, ...]:  # fmt: skip
    """The shape of images, for those of filters and of the result.

    >>> from wengert.symbolic.tensor.nnet.abstract_conv import get_conv_gradinputs_shape
    >>> get_conv_gradinputs_shape((4, 3, 3, 3), (2, 4, 7, 7), "valid", (1, 1))
    (2, 3, 9, 9)
    """
    rank = len(top_shape) - 2
    dilation = (1,) * rank if filter_dilation is None else filter_dilation
    channels = kernel_shape[-rank - 1]
    lengths = [
        get_conv_gradinputs_shape_1axis(*axis)
        for axis in zip(kernel_shape[-rank:], top_shape[2:], _borders(border_mode, rank),
                        subsample, dilation, strict=True)
    ]  # fmt: skip
    return (top_shape[0], channels * num_groups if num_groups > 1 else channels, *lengths)


def get_conv_gradweights_shape_1axis(image_shape: Any, top_shape: Any, border_mode: Any,
                                     subsample: Any, dilation: Any) -> Any:  # fmt: skip
    """The length of filters in one direction; None where it is not known.

    That is so for steps of more than 1, and for "half".
    """
    if any(v is None for v in (image_shape, top_shape, border_mode, subsample, dilation)):
        return None
    if subsample != 1 or border_mode == "half":
        return None
    if border_mode == "full":
        extent = top_shape - image_shape
    else:
        before, after = _sides(border_mode, 1)
        extent = image_shape + before + after - top_shape
    return (extent // dilation if dilation > 1 else extent) + 1


def get_conv_gradweights_shape(image_shape: Any, top_shape: Any, border_mode: Any, subsample: Any,
                               filter_dilation: Any = None, num_groups: int = 1,
                               unshared: bool = False) -> tuple[Any, ...]:  # fmt: skip
    """The shape of filters, for those of images and of the result.

    >>> from wengert.symbolic.tensor.nnet.abstract_conv import get_conv_gradweights_shape
    >>> get_conv_gradweights_shape((2, 3, 9, 9), (2, 4, 7, 7), "valid", (1, 1))
    (4, 3, 3, 3)
    """
    rank = len(subsample)
    dilation = (1,) * rank if filter_dilation is None else filter_dilation
    lengths = [
        get_conv_gradweights_shape_1axis(*axis)
        for axis in zip(image_shape[2:], top_shape[2:], _borders(border_mode, rank), subsample,
                        dilation, strict=True)
    ]  # fmt: skip
    outputs, channels = top_shape[1], image_shape[1]
    if num_groups > 1:
        channels = channels // num_groups
    places = tuple(top_shape[2:]) if unshared else ()
    return (outputs, *places, channels, *lengths)


def _known(length: Any) -> int | None:
    """A length as a number, or None."""
    if length is None:
        return None
    try:
        return int(get_scalar_constant_value(length))
    except NotScalarConstantError:
        return None


def check_conv_gradinputs_shape(image_shape: Any, kernel_shape: Any, output_shape: Any,
                                border_mode: Any, subsample: Any, filter_dilation: Any = None
                                ) -> bool:  # fmt: skip
    """Whether a convolution of images and filters of some shapes may have a result of a shape.

    >>> from wengert.symbolic.tensor.nnet.abstract_conv import check_conv_gradinputs_shape
    >>> check_conv_gradinputs_shape((2, 3, 9, 9), (4, 3, 3, 3), (2, 4, 9, 9), "valid", (1, 1))
    False
    """
    rank = len(image_shape) - 2
    if not len(image_shape) == len(kernel_shape) == len(output_shape):
        return False
    if len(subsample) != rank or (filter_dilation is not None and len(filter_dilation) != rank):
        return False
    expected = get_conv_output_shape(image_shape, kernel_shape, border_mode, subsample,
                                     filter_dilation)  # fmt: skip
    pairs = [(_known(a), _known(b)) for a, b in zip(output_shape, expected, strict=True)]
    return all(a is None or b is None or a == b for a, b in pairs)


def assert_conv_shape(shape: Any) -> tuple[Any, ...]:
    """A shape whose variables are checked when a function runs.

    Raises ValueError for a number that is too small: below 0 for the first two dimensions, below
    1 for the others.
    """
    checked = []
    for k, n in enumerate(shape):
        number, least = _known(n), 0 if k < 2 else 1
        text = f"The convolution would produce an invalid shape (dim[{k}] < {least})."
        if number is None and n is not None:
            n = Assert(text)(n, ge(n, 0) if k < 2 else gt(n, 0))
        elif number is not None and number < least:
            raise ValueError(f"{text[:-1]}: {number}")
        checked.append(n)
    return tuple(checked)


__all__ = [
    "assert_conv_shape",
    "check_conv_gradinputs_shape",
    "get_conv_gradinputs_shape",
    "get_conv_gradinputs_shape_1axis",
    "get_conv_gradweights_shape",
    "get_conv_gradweights_shape_1axis",
    "get_conv_output_shape",
    "get_conv_shape_1axis",
]
