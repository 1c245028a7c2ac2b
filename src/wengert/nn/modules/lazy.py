"""Layers that infer the size of their input from the first call."""

from __future__ import annotations

from typing import Any

from wengert.core.dtypes import int64
from wengert.core.tensor import Tensor
from wengert.nn.modules._common import full_tensor
from wengert.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from wengert.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from wengert.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from wengert.nn.modules.linear import Linear
from wengert.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Mixin for modules whose parameters are initialized by the first input.

    A subclass makes its parameters `UninitializedParameter`s and defines
    `initialize_parameters(*args, **kwargs)`, which gets the arguments of the first call and
    materializes them. After it the module becomes one of `cls_to_become`, if that is set.

    >>> import wengert
    >>> net = wengert.nn.Sequential(wengert.nn.LazyLinear(2), wengert.nn.ReLU())
    >>> net(wengert.zeros(1, 5)).shape
    torch.Size([1, 2])
    >>> net[0]
    Linear(in_features=5, out_features=2, bias=True)
    """

    cls_to_become: type[Any] | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Not the methods of this object: a cycle.
        self._load_hook = self.register_load_state_dict_pre_hook(_take_shapes)
        self._initialize_hook = self.register_forward_pre_hook(_infer, with_kwargs=True)

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *arguments: Any) -> None:
        """Take shapes from the loaded tensors."""
        for name, value in {**self._parameters, **self._buffers}.items():
            source = state_dict.get(prefix + name)
            if is_lazy(value) and source is not None and not is_lazy(source):
                value.materialize(source.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give every parameter a shape and initial values, from the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether this module itself has an uninitialized parameter or buffer."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first forward: become an ordinary module."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy"
            " forward pass to correctly initialize the modules"
        )


def _take_shapes(module: Any, *args: Any) -> None:
    module._lazy_load_hook(*args)


def _infer(module: Any, args: Any, kwargs: Any) -> None:
    module._infer_parameters(module, args, kwargs)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input.

    Args:
        out_features: features of the result.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> layer = wengert.nn.LazyLinear(3)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(wengert.zeros(2, 4)).shape, layer.in_features
    (torch.Size([2, 3]), 4)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """As Linear, once it is initialized."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """`in_features` is the last dimension of the input."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            _materialize(self.weight, (self.out_features, self.in_features))
            _materialize(self.bias, (self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # the parameters were loaded
            self.in_features = self.weight.shape[-1]


def _materialize(value: Any, shape: tuple[int, ...]) -> None:
    if is_lazy(value):
        value.materialize(shape)


class _LazyConv(LazyModuleMixin):
    """Base class of lazy convolutions."""

    # Of the convolution that this is mixed into.
    dimensions: int
    transposed: bool

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        layer: Any = self
        layer.weight = UninitializedParameter(device=device, dtype=dtype)
        layer.out_channels = out_channels
        if bias:
            layer.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        """As the convolution, once it is initialized."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """`in_channels` is the first dimension of a sample."""
        if not self.has_uninitialized_params():
            return
        shape, n = tuple(input.shape), self.dimensions
        if len(shape) not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to"
                f" {type(self).__name__}, but got input of size: {list(shape)}"
            )
        channels = shape[-n - 1]
        if channels % self.groups != 0:
            raise ValueError(
                f"in_channels must be divisible by groups, got {channels} and groups={self.groups}"
            )
        layer: Any = self
        layer.in_channels = channels
        first, second = self.out_channels, channels
        if self.transposed:
            first, second = second, first
        _materialize(self.weight, (first, second // self.groups, *self.kernel_size))
        _materialize(self.bias, (self.out_channels,))
        self.reset_parameters()


class _LazyForward(_LazyConv):
    """The arguments of a lazy convolution."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode
        )  # fmt: skip
        self._wait(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    """The arguments of a lazy transposed convolution."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode,
        )  # fmt: skip
        self._wait(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input.

    Args:
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters.
        stride: step between positions of the filters.
        padding: zeros added at both ends of each dimension; `"same"` keeps the size (with
            stride 1), `"valid"` adds none.
        dilation: distance between the elements of a filter.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LazyConv1d(2, 3)(wengert.zeros(1, 4, 5)).shape
    torch.Size([1, 2, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input.

    Args:
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 2 dimensions.
        stride: step between positions of the filters.
        padding: zeros added at both ends of each dimension; `"same"` keeps the size (with
            stride 1), `"valid"` adds none.
        dilation: distance between the elements of a filter.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LazyConv2d(2, 3)(wengert.zeros(1, 4, 5, 5)).shape
    torch.Size([1, 2, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input.

    Args:
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 3 dimensions.
        stride: step between positions of the filters.
        padding: zeros added at both ends of each dimension; `"same"` keeps the size (with
            stride 1), `"valid"` adds none.
        dilation: distance between the elements of a filter.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LazyConv3d(2, 3)(wengert.zeros(1, 4, 5, 5, 5)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input.

    Args:
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters.
        stride: step between positions of the filters in the result.
        padding: `dilation * (kernel_size - 1) - padding` zeros are added at both ends: a
            convolution with the same arguments is undone in shape.
        output_padding: added to the size at one end, where several sizes would fit.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        dilation: distance between the elements of a filter.
        padding_mode: `"zeros"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LazyConvTranspose1d(2, 3)(wengert.zeros(1, 4, 5)).shape
    torch.Size([1, 2, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input.

    Args:
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 2 dimensions.
        stride: step between positions of the filters in the result.
        padding: `dilation * (kernel_size - 1) - padding` zeros are added at both ends: a
            convolution with the same arguments is undone in shape.
        output_padding: added to the size at one end, where several sizes would fit.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        dilation: distance between the elements of a filter.
        padding_mode: `"zeros"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LazyConvTranspose2d(2, 3)(wengert.zeros(1, 4, 5, 5)).shape
    torch.Size([1, 2, 7, 7])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input.

    Args:
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 3 dimensions.
        stride: step between positions of the filters in the result.
        padding: `dilation * (kernel_size - 1) - padding` zeros are added at both ends: a
            convolution with the same arguments is undone in shape.
        output_padding: added to the size at one end, where several sizes would fit.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        dilation: distance between the elements of a filter.
        padding_mode: `"zeros"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LazyConvTranspose3d(2, 3)(wengert.zeros(1, 4, 5, 5, 5)).shape
    torch.Size([1, 2, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """Base class of lazy batch and instance norms."""

    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        layer: Any = self
        layer.affine, layer.track_running_stats = affine, track_running_stats
        factory = {"device": device, "dtype": dtype}
        if affine:
            layer.weight = UninitializedParameter(**factory)
            if bias:
                layer.bias = UninitializedParameter(**factory)
        if track_running_stats:
            layer.running_mean = UninitializedBuffer(**factory)
            layer.running_var = UninitializedBuffer(**factory)
            layer.num_batches_tracked = full_tensor(0, device=device, dtype=int64)

    def reset_parameters(self: Any) -> None:
        """As the norm, once it is initialized."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """`num_features` is dimension 1 of the input."""
        if self.has_uninitialized_params():
            layer: Any = self
            layer.num_features = input.shape[1]
            for value in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                _materialize(value, (layer.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` that takes `num_features` from its first input.

    Args:
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.LazyBatchNorm1d()(wengert.zeros(2, 4)).shape
    torch.Size([2, 4])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` that takes `num_features` from its first input.

    Args:
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.LazyBatchNorm2d()(wengert.zeros(2, 4, 3, 3)).shape
    torch.Size([2, 4, 3, 3])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` that takes `num_features` from its first input.

    Args:
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.LazyBatchNorm3d()(wengert.zeros(2, 4, 3, 3, 3)).shape
    torch.Size([2, 4, 3, 3, 3])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` that takes `num_features` from its first input.

    Args:
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.LazyInstanceNorm1d()(wengert.zeros(2, 4, 3)).shape
    torch.Size([2, 4, 3])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` that takes `num_features` from its first input.

    Args:
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.LazyInstanceNorm2d()(wengert.zeros(2, 4, 3, 3)).shape
    torch.Size([2, 4, 3, 3])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` that takes `num_features` from its first input.

    Args:
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.LazyInstanceNorm3d()(wengert.zeros(2, 4, 3, 3, 3)).shape
    torch.Size([2, 4, 3, 3, 3])
    """

    cls_to_become = InstanceNorm3d


__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
    "LazyLinear", "LazyModuleMixin",
]  # fmt: skip
