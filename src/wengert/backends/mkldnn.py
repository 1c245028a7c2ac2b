"""``torch.backends.mkldnn``: wengert's kernels are its own; switches can be set and read back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext

from wengert.backends.precision import PreciseModule, set_within
from wengert.backends.precision import everything as precise_operations  # as in PyTorch
from wengert.backends.precision import mkldnn_conv as conv
from wengert.backends.precision import mkldnn_matmul as matmul
from wengert.backends.precision import mkldnn_rnn as rnn
from wengert.core.signals import call_despite_signals, contextmanager

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


@contextmanager
def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool | None = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Set the switches inside a ``with`` block."""
    values = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
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
