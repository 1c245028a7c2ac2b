"""``torch.backends.cuda``: its switches can be set and read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from wengert.backends.precision import cuda_matmul as matmul
from wengert.core.signals import contextmanager


def is_built() -> bool:
    """False."""
    return False


class _LinalgBackend(Enum):
    Default, Cusolver, Magma = range(3)


class _BlasBackend(Enum):
    Default, Cublas, Cublaslt, Ck = range(4)


class _ROCmFABackend(Enum):
    Default, AOTriton, Ck = range(3)


def preferred_linalg_library(backend: Any = None) -> _LinalgBackend:
    """``Default``: there is none to prefer, and RuntimeError for a wish."""
    return _preferred(_LinalgBackend, "default, cusolver, magma", backend)


def preferred_blas_library(backend: Any = None) -> _BlasBackend:
    """``Default``: there is none to prefer, and RuntimeError for a wish."""
    return _preferred(_BlasBackend, "default, cublas, hipblas, cublaslt, hipblaslt, ck", backend)


def preferred_rocm_fa_library(backend: Any = None) -> _ROCmFABackend:
    """``Default``: there is none to prefer, and RuntimeError for a wish."""
    return _preferred(_ROCmFABackend, "default, aotriton, ck", backend)


def _preferred(kind: Any, names: str, backend: Any) -> Any:
    name = backend.name if isinstance(backend, kind) else backend
    if name is None or str(name).lower() == "default":
        return kind.Default
    if not isinstance(name, str):
        raise RuntimeError(f"Unknown input value type: {name!r}, expected one of: {names}")
    if name.lower() not in names.split(", "):
        raise RuntimeError(f"Unknown input value {name!r}. Choose from: {names}.")
    raise RuntimeError(f"Cannot set preferred backend to {name}: there is no such library here")


def is_flash_attention_available() -> bool:
    """False: there is no GPU."""
    return False


def is_ck_sdpa_available() -> bool:
    """False: there is no GPU."""
    return False


class _Kernels:
    flash = mem_efficient = math = cudnn = True
    reduced_math = False


def enable_flash_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.flash = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.mem_efficient = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.math = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Kernels.cudnn = bool(enabled)


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keep the wish: attention of half types is computed in float32."""
    _Kernels.reduced_math = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What `allow_fp16_bf16_reduction_math_sdp` was given."""
    return _Kernels.reduced_math


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was given."""
    return _Kernels.cudnn


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
    names = ("flash", "math", "mem_efficient", "cudnn")
    before = [getattr(_Kernels, name) for name in names]
    _set(names, (enable_flash, enable_math, enable_mem_efficient, enable_cudnn))
    try:
        yield
    finally:
        _set(names, before)


def _set(names: Iterable[str], values: Iterable[bool]) -> None:
    for name, value in zip(names, values, strict=True):
        setattr(_Kernels, name, bool(value))


__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]
