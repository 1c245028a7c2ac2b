"""``torch.backends.cuda``: its switches can be set and read back."""

from __future__ import annotations

from types import SimpleNamespace

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
