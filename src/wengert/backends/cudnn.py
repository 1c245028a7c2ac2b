"""``torch.backends.cudnn``: its switches can be set and read back."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from wengert.backends.precision import PreciseModule, cuda
from wengert.backends.precision import cuda_conv as conv
from wengert.backends.precision import cuda_rnn as rnn

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit: int | None = 10
fp32_precision: str


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: no tensor is on a GPU."""
    return False


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set the switches inside a ``with`` block."""
    return _module.switched(
        fp32_precision, enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
        deterministic=deterministic, allow_tf32=allow_tf32,
    )  # fmt: skip


_module: Any = sys.modules[__name__]
_module.__class__, _module.precise_operations = PreciseModule, cuda
__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "conv",
    "deterministic",
    "enabled",
    "flags",
    "fp32_precision",
    "is_acceptable",
    "is_available",
    "rnn",
    "version",
]
