"""``torch.backends.cudnn``: its switches can be set and read back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from wengert.backends.precision import PreciseModule, set_within
from wengert.backends.precision import cuda as precise_operations
from wengert.backends.precision import cuda_conv as conv
from wengert.backends.precision import cuda_rnn as rnn
from wengert.core.signals import call_despite_signals, contextmanager

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


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Set the switches inside a ``with`` block."""
    values = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    switches = globals()
    before = {name: switches[name] for name in values}
    with set_within(precise_operations, fp32_precision):
        try:
            switches.update(values)
            yield
        finally:
            call_despite_signals(switches.update, before)


sys.modules[__name__].__class__ = PreciseModule
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
