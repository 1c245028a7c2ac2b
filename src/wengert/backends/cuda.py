"""``torch.backends.cuda``: its switches can be set and read back."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from wengert.core.signals import contextmanager

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built() -> bool:
    """False."""
    return False


class _Kernels:
    flash = mem_efficient = math = True


def enable_flash_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.flash = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.mem_efficient = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.math = bool(enabled)


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was given."""
    return _Kernels.flash


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was given."""
    return _Kernels.mem_efficient


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was given."""
    return _Kernels.math


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Set the switches inside a ``with`` block: attention has one kernel here."""
    before = _Kernels.flash, _Kernels.math, _Kernels.mem_efficient
    _Kernels.flash, _Kernels.math = enable_flash, enable_math
    _Kernels.mem_efficient = enable_mem_efficient
    try:
        yield
    finally:
        _Kernels.flash, _Kernels.math, _Kernels.mem_efficient = before
