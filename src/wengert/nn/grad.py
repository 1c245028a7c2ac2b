"""``torch.nn.grad``: gradients of convolutions, for hand-written derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.tensor import Tensor
from wengert.ops.conv import Ints, input_gradient, weight_gradient


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `conv1d`, which has `input_size`.

    >>> import wengert
    >>> from wengert.nn.grad import conv1d_input
    >>> conv1d_input((1, 1, 4), wengert.ones(1, 1, 2), wengert.ones(1, 1, 3)).shape
    torch.Size([1, 1, 4])
    """
    return input_gradient(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `conv1d`, which has `weight_size`.

    >>> import wengert
    >>> from wengert.nn.grad import conv1d_weight
    >>> conv1d_weight(wengert.ones(1, 1, 4), (1, 1, 2), wengert.ones(1, 1, 3)).shape
    torch.Size([1, 1, 2])
    """
    return weight_gradient(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `conv2d`, which has `input_size`.

    >>> import wengert
    >>> from wengert.nn.grad import conv2d_input
    >>> conv2d_input((1, 1, 3, 3), wengert.ones(1, 1, 2, 2), wengert.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 3, 3])
    """
    return input_gradient(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `conv2d`, which has `weight_size`.

    >>> import wengert
    >>> from wengert.nn.grad import conv2d_weight
    >>> conv2d_weight(wengert.ones(1, 1, 3, 3), (1, 1, 2, 2), wengert.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """
    return weight_gradient(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `conv3d`, which has `input_size`.

    >>> import wengert
    >>> from wengert.nn.grad import conv3d_input
    >>> grad = wengert.ones(1, 1, 2, 2, 2)
    >>> conv3d_input((1, 1, 2, 2, 2), wengert.ones(1, 1, 1, 1, 1), grad).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return input_gradient(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1,
    padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `conv3d`, which has `weight_size`.

    >>> import wengert
    >>> from wengert.nn.grad import conv3d_weight
    >>> x = wengert.ones(1, 1, 2, 2, 2)
    >>> conv3d_weight(x, (1, 1, 1, 1, 1), x).shape
    torch.Size([1, 1, 1, 1, 1])
    """
    return weight_gradient(3, input, weight_size, grad_output, stride, padding, dilation, groups)


__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
