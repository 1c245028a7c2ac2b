"""``triton_utils``: decorators of tests that need a GPU, each to be used without arguments."""

from __future__ import annotations

import unittest

from wengert.compat._private.harness.accelerators import (
    HAS_CUDA_AND_TRITON,
    HAS_GPU,
    HAS_XPU_AND_TRITON,
    requires_cuda_and_triton,
    requires_gpu_and_triton,
    requires_xpu_and_triton,
)

requires_gpu = unittest.skipUnless(HAS_GPU, "needs a GPU")

__all__ = [
    "HAS_CUDA_AND_TRITON", "HAS_GPU", "HAS_XPU_AND_TRITON", "requires_cuda_and_triton",
    "requires_gpu", "requires_gpu_and_triton", "requires_xpu_and_triton",
]  # fmt: skip
