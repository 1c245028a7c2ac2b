"""The settings that PyTorch proposes for each of its backends."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.quantization.fake import (
    FakeQuantize,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from wengert.compat._private.quantization.fused import (
    FusedMovingAvgObsFakeQuantize,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
)
from wengert.compat._private.quantization.histograms import HistogramObserver
from wengert.compat._private.quantization.observers import (
    MovingAverageMinMaxObserver,
    default_per_channel_weight_observer,
    default_weight_observer,
)
from wengert.compat._private.quantization.settings import QConfig

# Whether the range of results is halved; None where nothing is said of it in training.
_REDUCE_RANGE = {"fbgemm": True, "x86": True, "qnnpack": False, "onednn": None}


def _checked(name: str, backend: str, version: int, versions: tuple[int, ...]) -> None:
    if backend not in _REDUCE_RANGE:
        raise AssertionError(
            f"backend: {backend} not supported. backend must be one of {[*_REDUCE_RANGE]}"
        )
    if version not in versions:
        raise AssertionError(
            f"Version number: {version} in {name} is not supported. Version number must be"
            f" {' or '.join(map(str, versions))}"
        )


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Observers for the results and the weight of a module; AssertionError for other backends."""
    _checked("get_default_qconfig", backend, version, (0,))
    by_channel = backend != "qnnpack"
    return QConfig(
        HistogramObserver.with_args(reduce_range=bool(_REDUCE_RANGE[backend])),
        default_per_channel_weight_observer if by_channel else default_weight_observer,
    )


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Fake quantization for training; AssertionError for other backends and versions."""
    _checked("get_default_qat_qconfig", backend, version, (0, 1))
    options: dict[str, Any] = {
        "observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255,
    }  # fmt: skip
    if _REDUCE_RANGE[backend] is not None:
        options["reduce_range"] = _REDUCE_RANGE[backend]
    kind = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    whole = default_fused_wt_fake_quant if version else default_weight_fake_quant
    channels = (
        default_fused_per_channel_wt_fake_quant
        if version
        else default_per_channel_weight_fake_quant
    )
    return QConfig(kind.with_args(**options), whole if backend == "qnnpack" else channels)


default_qat_qconfig_v2 = QConfig(
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255
    ),
    default_fused_wt_fake_quant,
)

__all__ = ["default_qat_qconfig_v2", "get_default_qat_qconfig", "get_default_qconfig"]
