"""Modules that look at tensors and say how to map their values to integers."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import Any

from wengert.compat._private.quantization.schemes import (
    PER_CHANNEL,
    PER_TENSOR,
    RANGES,
    SYMMETRIC,
    calculate_qmin_qmax,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint4x2,
    quint8,
    validate_qmin_qmax,
)
from wengert.core.dtypes import float16, float32, int32, int64, uint8
from wengert.core.info import finfo
from wengert.core.messages import warn
from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.ops.extrema import aminmax
from wengert.tensor import empty, tensor

_EPS = finfo(float32).eps


class PartialWrapper:
    """A class with some of its arguments, which makes an instance when it is called."""

    def __init__(self, partial: functools.partial[Any]) -> None:
        self.p, self.callable_args = partial, {}  # type: ignore[var-annotated]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        late = {n: make() for n, make in self.callable_args.items() if n not in kwargs}
        return self.p(*args, **{**late, **kwargs})

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **kwargs: Any) -> PartialWrapper:
        """The same with more arguments."""
        return partial_of(self, kwargs)

    def with_callable_args(self, **kwargs: Any) -> PartialWrapper:
        """The same with arguments that are made anew for each instance."""
        made = PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def partial_of(kind: Any, kwargs: dict[str, Any]) -> PartialWrapper:
    """A class, or a class with some arguments, with more of them."""
    if isinstance(kind, PartialWrapper):
        made = PartialWrapper(functools.partial(kind.p, **kwargs))
        made.callable_args = {**kind.callable_args}
        return made
    return PartialWrapper(functools.partial(kind, **kwargs))


class WithArguments:
    """Classes that are given with some of their arguments."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> PartialWrapper:
        """The class with these arguments, which makes an instance when it is called."""
        return partial_of(cls, kwargs)

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> PartialWrapper:
        """The class with arguments that are made anew for each instance."""
        return partial_of(cls, {}).with_callable_args(**kwargs)


class ObserverBase(WithArguments, ABC, Module):
    """A module that looks at tensors and returns them.

    Args:
        dtype: the dtype that stands for the integers.
        is_dynamic: whether the range is that of the tensor at hand.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale, and the integer that stands for 0."""


class UniformQuantizationObserverBase(ObserverBase):
    """Observers that find a range, for integers at equal distances.

    Args:
        dtype: the dtype that stands for the integers.
        qscheme: one of ``torch.per_tensor_affine`` and its kin.
        reduce_range: halve the range of 8-bit integers.
        quant_min: the smallest integer; by default that of the dtype.
        quant_max: the largest integer.
        factory_kwargs: ``dtype`` and ``device`` of what is kept.
        eps: the smallest scale.
        is_dynamic: whether the range is that of the tensor at hand.
    """

    min_val: Tensor
    max_val: Tensor
    eps: Tensor

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        if qscheme not in PER_TENSOR + PER_CHANNEL:
            raise AssertionError(f"Default Observer works for torch.per_tensor_affine and its kin,"
                                 f" not for {qscheme}")  # fmt: skip
        if dtype not in RANGES:
            raise AssertionError(f"Default Observer works for 8-bit integers and wider ones, not"
                                 f" for {dtype}")  # fmt: skip
        if reduce_range:
            warn(
                "Please use quant_min and quant_max to specify the range for observers."
                " reduce_range will be deprecated in a future release of PyTorch."
            )
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            validate_qmin_qmax(quant_min, quant_max)  # type: ignore[arg-type]
        self.quant_min, self.quant_max = calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range
        )

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """Scales and zero points for ranges."""
        if not check_min_max_valid(min_val, max_val):
            return tensor([1.0]), tensor([0])
        low, high = self.quant_min, self.quant_max
        least, most = min_val.clamp(max=0), max_val.clamp(min=0)
        zeros = least.new_zeros(least.shape, dtype=int64)
        if self.qscheme in SYMMETRIC:
            scale = (-least).maximum(most) / (float(high - low) / 2)
            scale = scale.maximum(self.eps)
            if self.dtype in (quint8, uint8):
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zeros = zeros + middle
        elif self.qscheme is per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(high - low)
            scale = scale.where(scale > self.eps, scale.new_ones(scale.shape))
            zeros = -1 * min_val / scale
        else:
            scale = ((most - least) / float(high - low)).maximum(self.eps)
            zeros = (low - (least / scale).round().to(int32)).clamp(low, high)
        return scale.reshape(scale.shape or (1,)), zeros.reshape(zeros.shape or (1,))

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The scale, and the integer that stands for 0; 1 and 0 before any tensor was seen."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The range of all tensors so far.

    Args:
        dtype: the dtype that stands for the integers.
        qscheme: ``torch.per_tensor_affine`` or ``torch.per_tensor_symmetric``.
        reduce_range: halve the range of 8-bit integers.
        quant_min: the smallest integer; by default that of the dtype.
        quant_max: the largest integer.
        factory_kwargs: ``dtype`` and ``device`` of what is kept.
        eps: the smallest scale.
        is_dynamic: whether the range is that of the tensor at hand.
    """

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in PER_TENSOR:
            raise NotImplementedError(
                f"MinMaxObserver's qscheme only support torch.per_tensor_symmetric and"
                f" torch.per_tensor_affine, got {qscheme}"
            )
        if qscheme is per_tensor_symmetric and reduce_range and dtype is quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps,
                         is_dynamic, **kwargs)  # fmt: skip
        self.reset_min_max_vals()

    def reset_min_max_vals(self) -> None:
        for name, value in (("min_val", float("inf")), ("max_val", float("-inf"))):
            self.register_buffer(name, tensor(value, dtype=self.eps.dtype))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Take a tensor into the range."""
        if x_orig.numel():
            low, high = aminmax(x_orig.detach().to(self.min_val.dtype))
            self._take(low, high)
        return x_orig

    def _take(self, low: Tensor, high: Tensor) -> None:
        self.min_val.copy_(low.minimum(self.min_val))
        self.max_val.copy_(high.maximum(self.max_val))

    def extra_repr(self) -> str:
        return f"min_val={self.min_val.item()}, max_val={self.max_val.item()}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """The moving averages of the ends of the tensors' ranges.

    Args:
        averaging_constant: the weight of the next range.
        dtype: as of `MinMaxObserver`, like the others.
        qscheme: see `dtype`.
        reduce_range: see `dtype`.
        quant_min: see `dtype`.
        quant_max: see `dtype`.
        eps: see `dtype`.
        is_dynamic: see `dtype`.
    """

    def __init__(
        self, averaging_constant: float = 0.01, dtype: Any = quint8,
        qscheme: Any = per_tensor_affine, reduce_range: bool = False, quant_min: int | None = None,
        quant_max: int | None = None, eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_dynamic(self, averaging_constant, is_dynamic)
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps,
                         is_dynamic=is_dynamic, **kwargs)  # fmt: skip
        self.averaging_constant = averaging_constant

    def _take(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.item() != float("inf") or self.max_val.item() != float("-inf"):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val.copy_(low)
        self.max_val.copy_(high)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The range of each channel in all tensors so far.

    Args:
        ch_axis: the dimension of channels.
        dtype: as of `MinMaxObserver`, like the others.
        qscheme: ``torch.per_channel_affine``, or one of its kin.
        reduce_range: see `dtype`.
        quant_min: see `dtype`.
        quant_max: see `dtype`.
        factory_kwargs: see `dtype`.
        eps: see `dtype`.
        is_dynamic: of which PyTorch has none; NotImplementedError.
    """

    def __init__(
        self, ch_axis: int = 0, dtype: Any = quint8, qscheme: Any = per_channel_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in PER_CHANNEL:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric,"
                " torch.per_channel_affine and torch.per_channel_affine_float_qparams, got"
                f" {qscheme}"
            )
        if is_dynamic:
            raise NotImplementedError(
                "PerChannelMinMaxObserver doesn't support dynamic quantization"
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps,
                         is_dynamic, **kwargs)  # fmt: skip
        self.ch_axis = ch_axis
        if qscheme is per_channel_symmetric and reduce_range and dtype is quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")
        self.reset_min_max_vals()

    def reset_min_max_vals(self) -> None:
        for name in ("min_val", "max_val"):
            self.register_buffer(name, empty(0, dtype=self.eps.dtype))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Take the channels of a tensor into their ranges."""
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype).movedim(self.ch_axis, 0)
            low, high = aminmax(x.flatten(1) if x.ndim > 1 else x[:, None], dim=1)
            if self.min_val.numel():
                low, high = self._joined(low, high)
            self.min_val, self.max_val = low, high
        return x_orig

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        return low.minimum(self.min_val), high.maximum(self.max_val)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("min_val", "max_val"):  # as many channels as were seen
            if prefix + name in state_dict:
                setattr(self, name, empty(state_dict[prefix + name].shape, dtype=self.eps.dtype))
        super()._load_from_state_dict(state_dict, prefix, *args)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """The moving averages of the ends of the channels' ranges.

    Args:
        averaging_constant: the weight of the next range.
        ch_axis: as of `PerChannelMinMaxObserver`, like the others.
        dtype: see `ch_axis`.
        qscheme: see `ch_axis`.
        reduce_range: see `ch_axis`.
        quant_min: see `ch_axis`.
        quant_max: see `ch_axis`.
        eps: see `ch_axis`.
        is_dynamic: see `ch_axis`.
    """

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = quint8,
        qscheme: Any = per_channel_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, eps: float = _EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps,
                         is_dynamic=is_dynamic, **kwargs)  # fmt: skip
        self.averaging_constant = averaging_constant

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        share = self.averaging_constant
        return (
            self.min_val + share * (low - self.min_val),
            self.max_val + share * (high - self.max_val),
        )


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that are known beforehand.

    Args:
        scale: the distance of neighbouring numbers.
        zero_point: the integer that stands for 0.
        dtype: the dtype that stands for the integers.
        qscheme: one of ``torch.per_tensor_affine`` and its kin.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        is_dynamic: of which there is none; NotImplementedError.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, scale: float, zero_point: int, dtype: Any = quint8, qscheme: Any = per_tensor_affine,
        quant_min: int = 0, quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", tensor([scale], dtype=float32))
        self.register_buffer("zero_point", tensor([zero_point], dtype=int32))

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (PyTorch's name)
        """The input."""
        return X

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The scale and the zero point that were given."""
        return self.scale, self.zero_point


class _Unobserving(ObserverBase):
    """Observers that look at nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Nothing is known: an exception."""
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")


class PlaceholderObserver(_Unobserving):
    """What stands for a dtype, where ranges are found later or not at all."""

    def __init__(
        self, dtype: Any = float32, custom_op_name: str = "", compute_dtype: Any = None,
        quant_min: int | None = None, quant_max: int | None = None, qscheme: Any = None,
        eps: float | None = None, is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic or bool(compute_dtype))
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class NoopObserver(_Unobserving):
    """What stands for a dtype, and looks at nothing."""

    def __init__(self, dtype: Any = float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name


class ReuseInputObserver(_Unobserving):
    """What says that a result is mapped as the input was."""

    def __init__(self) -> None:
        super().__init__(quint8, is_dynamic=False)


class RecordingObserver(_Unobserving):
    """Keeps the tensors that it is shown, for whoever looks for errors."""

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Keep a copy of a tensor."""
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Tensor]:
        """The tensors so far."""
        return self.tensor_val


def check_min_max_valid(min_val: Tensor, max_val: Tensor) -> bool:
    """Whether there is a range; AssertionError for one that ends before it begins."""
    unseen = not min_val.numel() or not max_val.numel()
    if not unseen and not min_val.ndim:
        unseen = min_val.item() == float("inf") and max_val.item() == float("-inf")
    if unseen:
        warn("must run observer before calling calculate_qparams. Returning default values.")
        return False
    if not bool((min_val <= max_val).all()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def _check_dynamic(observer: Any, averaging_constant: float, is_dynamic: bool) -> None:
    if is_dynamic and averaging_constant != 1:
        raise NotImplementedError(
            "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging"
            f" constant of {averaging_constant}"
        )


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a scheme has one range for a tensor."""
    return qscheme in PER_TENSOR


def is_per_channel(qscheme: Any) -> bool:
    """Whether a scheme has a range for each channel."""
    return qscheme in PER_CHANNEL


_RANGE = {"dtype": quint8, "quant_min": 0, "quant_max": 255}
_SYMMETRIC_8 = {"dtype": qint8, "qscheme": per_tensor_symmetric}
_CHANNELS_8 = {"dtype": qint8, "qscheme": per_channel_symmetric}
_NARROW = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(**_SYMMETRIC_8)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_SYMMETRIC_8, **_NARROW)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_CHANNELS_8)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    **_CHANNELS_8, **_NARROW
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(**_RANGE, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=quint4x2, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2 / 256, zero_point=128, **_RANGE
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1 / 256, zero_point=0, **_RANGE
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver

__all__ = [
    "FixedQParamsObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
    "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver",
    "UniformQuantizationObserverBase", "calculate_qmin_qmax", "check_min_max_valid",
    "default_affine_fixed_qparams_observer", "default_debug_observer",
    "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer",
    "default_float_qparams_observer_4bit", "default_observer",
    "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer",
    "default_weight_observer", "is_per_channel", "is_per_tensor",
    "per_channel_weight_observer_range_neg_127_to_127", "validate_qmin_qmax",
    "weight_observer_range_neg_127_to_127",
]  # fmt: skip
