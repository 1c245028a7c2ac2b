"""How a module is to be quantized: pairs of an observer for its results and one for its weight."""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.compat._private.quantization.fake import (
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_weight_fake_quant,
)
from wengert.compat._private.quantization.observers import (
    NoopObserver,
    PlaceholderObserver,
    default_debug_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
)
from wengert.core.dtypes import float16, float32
from wengert.nn.module import Module
from wengert.nn.modules.linear import Identity


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """What makes the observers of a module, for its results and for its weight.

    ValueError for an instance of an observer, which several modules would share.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use"
                " MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two settings make the same observers with the same arguments."""
    if q1 is None or q2 is None:
        return q1 is q2
    pairs = ((q1.activation, q2.activation), (q1.weight, q2.weight))
    return all(map(_same, *zip(*pairs, strict=True)))


def _same(a: Any, b: Any) -> bool:
    if not (hasattr(a, "p") and hasattr(b, "p")):
        return bool(a == b)
    alike: bool = a.p.func == b.p.func and a.p.args == b.p.args and a.p.keywords == b.p.keywords
    return alike


default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=float16),
)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=float16), PlaceholderObserver.with_args(dtype=float16)
)
float_qparams_weight_only_qconfig = QConfig(
    default_placeholder_observer, default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    default_placeholder_observer, default_float_qparams_observer_4bit
)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, Identity)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_embedding_qat_qconfig = QConfig(
    NoopObserver.with_args(dtype=float32), default_embedding_fake_quant
)
default_embedding_qat_qconfig_4bit = QConfig(
    NoopObserver.with_args(dtype=float32), default_embedding_fake_quant_4bit
)

__all__ = [
    "QConfig", "QConfigAny", "default_activation_only_qconfig", "default_debug_qconfig",
    "default_dynamic_qat_qconfig", "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit", "default_per_channel_qconfig", "default_qat_qconfig",
    "default_qconfig", "default_reuse_input_qconfig", "default_weight_only_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig",
    "float_qparams_weight_only_qconfig_4bit", "qconfig_equals",
]  # fmt: skip
