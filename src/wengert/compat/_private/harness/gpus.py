"""``torch.testing._internal.common_cuda``: there is no GPU, and so no capability of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from wengert.compat._private.harness import conditions
from wengert.compat._private.harness.conditions import *  # noqa: F403

TEST_CUDNN_VERSION = 0
CUDA_DEVICE = None
SM53OrLater = SM60OrLater = SM70OrLater = SM75OrLater = SM80OrLater = False
SM89OrLater = SM90OrLater = SM100OrLater = SM120OrLater = False
IS_SM89 = IS_SM90 = IS_SM100 = IS_SM10X = IS_SM12X = IS_THOR = False
PLATFORM_SUPPORTS_FLASH_ATTENTION = PLATFORM_SUPPORTS_MEM_EFF_ATTENTION = False
PLATFORM_SUPPORTS_CUDNN_ATTENTION = PLATFORM_SUPPORTS_FUSED_ATTENTION = False
PLATFORM_SUPPORTS_FUSED_SDPA = PLATFORM_SUPPORTS_CK_SDPA = PLATFORM_SUPPORTS_BF16 = False
PLATFORM_SUPPORTS_FP8 = PLATFORM_SUPPORTS_MX_GEMM = False
CDNA2OrLater = CDNA3OrLater = CDNA5OrLater = False
TEST_CUSPARSE_GENERIC = TEST_HIPSPARSE_GENERIC = False

tf32_off = tf32_enabled = nullcontext


@contextmanager
def tf32_on(self: Any, tf32_precision: float = 1e-5) -> Iterator[None]:
    """A context that changes nothing: there is no TF32."""
    yield


def tf32_is_not_fp32() -> bool:
    """False: products of float32 are products of float32."""
    return False


def tf32_on_and_off(tf32_precision: float = 1e-5, *, only_if: bool = True) -> Callable[[Any], Any]:
    """A decorator that does nothing: there is no TF32."""
    return with_tf32_off


def with_tf32_off(f: Any) -> Any:
    """Return the argument unchanged: there is no TF32."""
    return f


def initialize_cuda_context_rng() -> None:
    """Nothing to initialise."""


def _get_magma_version() -> tuple[int, int]:
    """(0, 0)."""
    return 0, 0


def _get_torch_rocm_version() -> tuple[int, int]:
    """(0, 0)."""
    return 0, 0


def _get_torch_cuda_version() -> tuple[int, int]:
    """(0, 0)."""
    return 0, 0


__all__ = [
    *conditions.__all__,
    "CUDA_DEVICE",
    *(
        name
        for name in list(globals())
        if name.startswith(("CDNA", "SM", "IS_SM", "PLATFORM_", "TEST_CU"))
    ),
    "_get_magma_version",
    "_get_torch_cuda_version",
    "_get_torch_rocm_version",
    "initialize_cuda_context_rng",
    "tf32_enabled",
    "tf32_is_not_fp32",
    "tf32_off",
    "tf32_on",
    "tf32_on_and_off",
    "with_tf32_off",
]
