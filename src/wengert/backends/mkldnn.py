"""``torch.backends.mkldnn``: wengert's kernels are its own; switches can be set and read back."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from wengert.backends.precision import PreciseModule, everything
from wengert.backends.precision import mkldnn_conv as conv
from wengert.backends.precision import mkldnn_matmul as matmul
from wengert.backends.precision import mkldnn_rnn as rnn

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision: str
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """False."""
    return False


def is_acl_available() -> bool:
    """False."""
    return False


class verbose(nullcontext[None]):  # noqa: N801 (PyTorch's name)
    """A context that prints nothing: no call goes to oneDNN."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self.level = level


def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool | None = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set the switches inside a ``with`` block."""
    return _module.switched(
        fp32_precision, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32
    )


_module: Any = sys.modules[__name__]
_module.__class__, _module.precise_operations = PreciseModule, everything  # as in PyTorch
__all__ = [
    "VERBOSE_OFF",
    "VERBOSE_ON",
    "VERBOSE_ON_CREATION",
    "allow_tf32",
    "conv",
    "deterministic",
    "enabled",
    "flags",
    "fp32_precision",
    "is_acl_available",
    "is_available",
    "matmul",
    "rnn",
    "verbose",
]
