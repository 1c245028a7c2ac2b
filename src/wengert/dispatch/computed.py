"""Operations of PyTorch whose name or arguments no public function of the library has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.dtypes import dtype as DType
from wengert.core.tensor import Tensor
from wengert.ops.arithmetic import sub
from wengert.ops.conv import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    input_gradient,
    weight_gradient,
)
from wengert.ops.embedding import embedding
from wengert.ops.normalization import layer_norm
from wengert.ops.padding import pad as padded
from wengert.ops.shape import reshape
from wengert.ops.softmax import log_softmax, softmax

Ints = Sequence[int]


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return softmax(self, dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return log_softmax(self, dim)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType
) -> Tensor:
    product = grad_output * output
    return product - output * product.sum(dim, keepdim=True)


def _safe_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """A softmax that is 0, not nan, where all elements are minus infinity."""
    hidden = (self == float("-inf")).all(dim, keepdim=True)
    weights: Tensor = softmax(self, dim, dtype=dtype).masked_fill(hidden, 0.0)
    return weights


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType
) -> Tensor:
    return grad_output - output.exp() * grad_output.sum(dim, keepdim=True)


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    """The gradient where the input was above the threshold."""
    return grad_output * (self > threshold)


def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints,
    dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """A convolution of any rank, or a transposed one."""
    rank = input.ndim - 2
    result: Tensor
    if transposed:
        function: Any = (conv_transpose1d, conv_transpose2d, conv_transpose3d)[rank - 1]
        result = function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    else:
        function = (conv1d, conv2d, conv3d)[rank - 1]
        result = function(input, weight, bias, stride, padding, dilation, groups)
    return result


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints,
    dilation: Ints, transposed: bool, output_padding: Ints, groups: int, benchmark: bool,
    deterministic: bool, cudnn_enabled: bool, allow_tf32: bool = False,
) -> Tensor:  # fmt: skip
    """`convolution`; the other arguments choose among kernels that are not here."""
    return convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Ints | None, stride: Ints,
    padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of input, weight and bias; None for those that the mask leaves out."""
    if transposed:
        raise NotImplementedError(
            "torch.ops.aten.convolution_backward of a transposed convolution: differentiate"
            " conv_transpose1d, conv_transpose2d or conv_transpose3d"
        )
    rank = input.ndim - 2
    options = (list(stride), list(padding), list(dilation), groups)
    d_input = d_weight = d_bias = None
    if output_mask[0]:
        d_input = input_gradient(rank, tuple(input.shape), weight, grad_output, *options)
    if output_mask[1]:
        d_weight = weight_gradient(rank, input, tuple(weight.shape), grad_output, *options)
    if output_mask[2]:
        d_bias = grad_output.sum([0, *range(2, grad_output.ndim)])
    return d_input, d_weight, d_bias


def native_layer_norm(
    input: Tensor, normalized_shape: Ints, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and the means and reciprocal deviations that it was made with."""
    dims = list(range(-len(normalized_shape), 0))
    mean = input.mean(dims, keepdim=True)
    rstd = (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()
    return layer_norm(input, normalized_shape, weight, bias, eps), mean, rstd


def rsub(self: Tensor, other: Any, alpha: float = 1) -> Tensor:
    """``other - alpha * self``."""
    return sub(other, self if alpha == 1 else self * alpha)


def slice_of(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A stretch of one dimension."""
    key = (slice(None),) * (dim % self.ndim) + (slice(start, end, step),)
    part: Tensor = self[key]
    return part


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The elements that tensors of indices name; all of a dimension where there is None."""
    part: Tensor = self[tuple(slice(None) if i is None else i for i in indices)]
    return part


def _to_copy(self: Tensor, *, dtype: Any = None, device: Any = None, layout: Any = None,
             pin_memory: Any = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:  # fmt: skip
    options = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(dtype=dtype or self.dtype, device=device, copy=True, **options)


def alias(self: Tensor) -> Tensor:
    """The same memory."""
    return self.view(self.shape)


def _unsafe_view(self: Tensor, size: Ints) -> Tensor:
    return reshape(self, list(size))


def embed(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of a table."""
    row = None if padding_idx < 0 else padding_idx
    return embedding(indices, weight, row, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def constant_pad_nd(self: Tensor, pad: Ints, value: float = 0) -> Tensor:
    """Padded with a number."""
    return padded(self, list(pad), value=value)


def lift_fresh(self: Tensor) -> Tensor:
    """A tensor as it is."""
    return self


# By name, or by name and overload.
COMPUTED: dict[str, Callable[..., Any]] = {
    "_convolution": _convolution,
    "_local_scalar_dense": lambda self: self.item(),
    "_log_softmax": _log_softmax,
    "_log_softmax_backward_data": _log_softmax_backward_data,
    "_safe_softmax": _safe_softmax,
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward_data,
    "_to_copy": _to_copy,
    "_unsafe_view": _unsafe_view,
    "alias": alias,
    "constant_pad_nd": constant_pad_nd,
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "embedding": embed,
    "index": index,
    "lift_fresh": lift_fresh,
    "native_layer_norm": native_layer_norm,
    "rsub": rsub,
    "slice": slice_of,
    "threshold_backward": threshold_backward,
}
