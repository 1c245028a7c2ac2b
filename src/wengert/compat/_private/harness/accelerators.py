"""``inductor_utils``, ``triton_utils`` and ``common_xpu``: which devices compiled functions run on.

The CPU does. There is no GPU and no Triton, and tests that need one are skipped, as in a PyTorch
that was built for the CPU.
"""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import wengert
from wengert import Tensor
from wengert.compat._private.harness.common import LazyVal
from wengert.compat._private.triton_answers import has_triton

_Test = Callable[..., Any]

HAS_CPU = LazyVal(lambda: True)
HAS_TRITON = HAS_PALLAS = HAS_HELION = HAS_TPU = HAS_MPS = False
HAS_CUDA_AND_TRITON = HAS_XPU_AND_TRITON = HAS_GPU = HAS_GPU_AND_TRITON = HAS_MULTIGPU = False
GPU_TYPE = "cuda"  # what PyTorch calls it where there is none
RUN_CPU, RUN_GPU, RUN_TPU = HAS_CPU, False, False
IS_BIG_GPU = LazyVal(lambda: False)
XPU_ALREADY_INITIALIZED_ON_IMPORT = False

requires_gpu = functools.partial(unittest.skipIf, not HAS_GPU, "needs a GPU")
requires_triton = functools.partial(unittest.skipIf, not HAS_TRITON, "needs Triton")
requires_helion = functools.partial(unittest.skipIf, not HAS_HELION, "needs Helion")
requires_cuda_and_triton = unittest.skipUnless(HAS_CUDA_AND_TRITON, "needs CUDA and Triton")
requires_xpu_and_triton = unittest.skipUnless(HAS_XPU_AND_TRITON, "needs XPU and Triton")
requires_gpu_and_triton = unittest.skipUnless(HAS_GPU, "needs a GPU and Triton")


def requires_gpu_with_enough_memory(min_mem_required: float) -> Callable[[_Test], _Test]:
    """Skip a test: there is no GPU."""
    return unittest.skip(f"needs a GPU with {min_mem_required} of memory")


def skipDeviceIf(cond: Any, msg: str, *, device: str) -> Callable[[_Test], _Test]:
    """Skip a test whose class runs on this kind of device, where the condition holds."""

    def decorate(fn: _Test) -> _Test:
        @functools.wraps(fn)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            kind = getattr(self, "device", None) or getattr(self, "device_type", "")
            if cond and str(kind) == device:
                raise unittest.SkipTest(msg)
            return fn(self, *args, **kwargs)

        return run

    return decorate


def maybe_skip_size_asserts(op: Any) -> nullcontext[None]:
    """A context: compiled functions assert nothing about strides."""
    return nullcontext()


def clone_preserve_strides_offset(x: Tensor, device: Any = None) -> Tensor:
    """A copy with the strides and the offset of `x`."""
    last = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)) if x.numel() else -1
    memory = wengert.as_strided(x, (x.storage_offset() + last + 1,), (1,), 0).clone()
    return wengert.as_strided(memory.to(device), x.shape, x.stride(), x.storage_offset())


def get_xpu_codename() -> None:
    """None: there is no XPU."""


def get_xpu_arch() -> None:
    """None: there is no XPU."""


_FLAGS = [name for name in list(globals()) if name.startswith(("HAS_", "IS_", "RUN_", "XPU_"))]
__all__ = [
    *_FLAGS, *(name for name in list(globals()) if name.startswith("requires_")), "GPU_TYPE",
    "clone_preserve_strides_offset", "get_xpu_arch", "get_xpu_codename", "has_triton",
    "maybe_skip_size_asserts", "skipDeviceIf",
]  # fmt: skip
