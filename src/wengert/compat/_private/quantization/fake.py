"""Modules that round what passes through them to what integers would keep of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from wengert.compat._private.quantization.observers import (
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    WithArguments,
    default_affine_fixed_qparams_observer,
    default_symmetric_fixed_qparams_observer,
    is_per_channel,
    is_per_tensor,
    partial_of,
)
from wengert.compat._private.quantization.rounding import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from wengert.compat._private.quantization.schemes import (
    RANGES,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint4x2,
    quint8,
)
from wengert.core.dtypes import float32, int32, uint8
from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.tensor import empty, tensor


class FakeQuantizeBase(WithArguments, ABC, Module):
    """Modules that can round what passes through them, and look at it before.

    `fake_quant_enabled` and `observer_enabled` are buffers of one 0 or 1.
    """

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", tensor([1], dtype=uint8))
        self.register_buffer("observer_enabled", tensor([1], dtype=uint8))

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor, and round it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale, and the integer that stands for 0."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Round no more."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Look at tensors from now on."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Look at tensors no more."""
        self.enable_observer(False)


class FakeQuantize(FakeQuantizeBase):
    """Rounds tensors to what integers would keep of them, by the ranges that an observer finds.

    Args:
        observer: the class of the observer, or one with arguments.
        quant_min: the smallest integer; by default that of the observer.
        quant_max: the largest integer.
        is_dynamic: whether the range is that of the tensor at hand.
        observer_kwargs: further arguments of the observer.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None,
        quant_max: int | None = None, is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            kind = observer_kwargs.get("dtype", quint8)
            low, high = RANGES.get(kind, (quant_min, quant_max))
            if quant_min < low or quant_max > high:
                raise AssertionError(f"quant_min and quant_max must be in the range of {kind}")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        seen = self.activation_post_process
        self.quant_min, self.quant_max = seen.quant_min, seen.quant_max
        self.is_dynamic, self.dtype, self.qscheme = seen.is_dynamic, seen.dtype, seen.qscheme
        self.ch_axis = getattr(seen, "ch_axis", -1)
        self.is_per_channel = is_per_channel(self.qscheme)
        if not (self.is_per_channel or is_per_tensor(self.qscheme)):
            raise AssertionError(
                "Only per channel and per tensor quantization are supported in fake quantize, got"
                f" qscheme: {self.qscheme}"
            )
        floats = self.qscheme is per_channel_affine_float_qparams
        self.register_buffer("scale", tensor([1.0]))
        self.register_buffer("zero_point", tensor([0], dtype=float32 if floats else int32))

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """What the observer says."""
        return self.activation_post_process.calculate_qparams()

    def _ranges(self) -> Any:
        """What `forward` rounds by."""
        return self.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (PyTorch's name)
        """Look at a tensor, if the observer is on, and round it, if rounding is."""
        if self.observer_enabled[0]:
            self.activation_post_process(X.detach())
            scale, zero = self._ranges()
            self.scale = scale.to(self.scale.dtype)
            self.zero_point = zero.to(self.zero_point.dtype)
        if not self.fake_quant_enabled[0]:
            return X
        ends = self.quant_min, self.quant_max
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, *ends
            )
        return fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *ends)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled},"
            f" observer_enabled={self.observer_enabled}, quant_min={self.quant_min},"
            f" quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme},"
            f" ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("scale", "zero_point"):  # one for each channel that was seen
            if prefix + name in state_dict:
                own = getattr(self, name)
                setattr(self, name, empty(state_dict[prefix + name].shape, dtype=own.dtype))
        super()._load_from_state_dict(state_dict, prefix, *args)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds tensors by a scale and a zero point that are known beforehand.

    Args:
        observer: a `FixedQParamsObserver` with its arguments.
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(
                f"{type(self).__name__}'s observer must be a FixedQParamsObserver, got"
                f" {type(self.activation_post_process)}"
            )
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scale and the zero point that were given."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled},"
            f" observer_enabled={self.observer_enabled}, scale={self.scale},"
            f" zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min},"
            f" quant_max={self.quant_max}, qscheme={self.qscheme}"
        )


def enable_fake_quant(mod: Any) -> None:
    """Have a module round from now on: for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_fake_quant(mod: Any) -> None:
    """Have a module round no more: for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_observer(mod: Any) -> None:
    """Have a module look at tensors from now on: for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


def disable_observer(mod: Any) -> None:
    """Have a module look at tensors no more: for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


_AVERAGE = {"observer": MovingAverageMinMaxObserver}
_CHANNELS = {"observer": MovingAveragePerChannelMinMaxObserver}
_POSITIVE = {"quant_min": 0, "quant_max": 255}
_SIGNED = {"quant_min": -128, "quant_max": 127, "dtype": qint8}

default_fake_quant = FakeQuantize.with_args(
    **_AVERAGE, **_POSITIVE, dtype=quint8, qscheme=per_tensor_affine, reduce_range=True
)
default_weight_fake_quant = FakeQuantize.with_args(
    **_AVERAGE, **_SIGNED, qscheme=per_tensor_symmetric, reduce_range=False
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    **_AVERAGE, **_POSITIVE, is_dynamic=True, dtype=quint8, averaging_constant=1
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    **_CHANNELS, **_SIGNED, qscheme=per_channel_symmetric, reduce_range=False, ch_axis=0
)
default_embedding_fake_quant = FakeQuantize.with_args(
    **_CHANNELS, qscheme=per_channel_affine_float_qparams, dtype=quint8, **_POSITIVE, ch_axis=0,
    averaging_constant=1,
)  # fmt: skip
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    **_CHANNELS, qscheme=per_channel_affine_float_qparams, ch_axis=0, dtype=quint4x2,
    averaging_constant=1,
)  # fmt: skip
default_fixed_qparams_range_neg1to1_fake_quant = partial_of(
    FixedQParamsFakeQuantize, {"observer": default_symmetric_fixed_qparams_observer}
)
default_fixed_qparams_range_0to1_fake_quant = partial_of(
    FixedQParamsFakeQuantize, {"observer": default_affine_fixed_qparams_observer}
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant",
    "default_embedding_fake_quant", "default_embedding_fake_quant_4bit", "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant", "default_weight_fake_quant",
    "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
]  # fmt: skip
