"""Facts about the machine that tests depend on, and decorators that skip where they do not hold."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import unittest
from collections.abc import Callable
from functools import partial
from typing import Any

_Decorator = Callable[[Any], Any]


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_X86 = platform.machine() in ("x86_64", "AMD64", "i386")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_PPC = platform.machine() == "ppc64le"
IS_S390X = platform.machine() == "s390x"
IS_CI = bool(os.environ.get("CI"))
IS_FBCODE = IS_SANDCASTLE = IS_JETSON = IS_REMOTE_GPU = False

TEST_NUMPY = True
TEST_SCIPY = True
TEST_LAPACK = True
TEST_NUMBA = _has("numba")
TEST_DILL = _has("dill")
TEST_TRANSFORMERS = _has("transformers")
TEST_OPT_EINSUM = _has("opt_einsum")
TEST_WITH_SLOW = os.environ.get("PYTORCH_TEST_WITH_SLOW") == "1"

# There is one device, the CPU, and no other vendor's library.
TEST_CUDA = TEST_CUDNN = TEST_MULTIGPU = TEST_XPU = TEST_HPU = TEST_MPS = TEST_PRIVATEUSE1 = False
TEST_ACCELERATOR = TEST_MULTIACCELERATOR = TEST_CUDA_GRAPH = TEST_MAGMA = False
TEST_MKL = TEST_ONEDNN = TEST_ACL = TEST_FAIRSEQ = TEST_WITH_CROSSREF = False
TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_ROCM = TEST_WITH_MTIA = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = False
TEST_WITH_SLOW_GRADCHECK = TEST_SKIP_FAST = TEST_SKIP_CUDAGRAPH = False


def _skip_where(holds: bool, reason: str) -> _Decorator:
    """A decorator that skips, with or without arguments of its own."""

    def skip(func: Any = None, *, msg: str = reason) -> Any:
        if func is None or isinstance(func, str):
            return partial(skip, msg=func or msg)
        return unittest.skipIf(holds, msg)(func)

    return skip


skipIfWindows = _skip_where(IS_WINDOWS, "not on Windows")
skipIfNoSciPy = _skip_where(not TEST_SCIPY, "needs SciPy")
skipIfNoLapack = _skip_where(not TEST_LAPACK, "needs LAPACK")
skipIfNoDill = _skip_where(not TEST_DILL, "needs dill")
skipIfCompiledWithoutNumpy = _skip_where(not TEST_NUMPY, "needs NumPy")
skipIfCrossRef = _skip_where(TEST_WITH_CROSSREF, "not beside reference implementations")
skipIfRocm = _skip_where(TEST_WITH_ROCM, "not on ROCm")
skipIfXpu = _skip_where(TEST_XPU, "not on XPU")
skipIfHpu = _skip_where(TEST_HPU, "not on HPU")
skipIfMPS = _skip_where(TEST_MPS, "not on MPS")
skipIfTorchDynamo = _skip_where(TEST_WITH_TORCHDYNAMO, "not under a compiler")
skipIfTorchInductor = _skip_where(TEST_WITH_TORCHINDUCTOR, "not under a compiler")
skipIfSlowGradcheckEnv = _skip_where(TEST_WITH_SLOW_GRADCHECK, "not with the slow gradcheck")
slowTest = _skip_where(not TEST_WITH_SLOW, "slow; PYTORCH_TEST_WITH_SLOW=1 runs it")
requires_cuda = _skip_where(not TEST_CUDA, "needs CUDA")
requires_mkl = _skip_where(not TEST_MKL, "needs MKL")
requires_onednn = _skip_where(not TEST_ONEDNN, "needs oneDNN")


def slowTestIf(condition: bool) -> _Decorator:
    """`slowTest` where the condition holds."""
    return slowTest if condition else _unchanged


def xfailIf(condition: bool) -> _Decorator:
    """A test that is expected to fail where the condition holds."""
    return unittest.expectedFailure if condition else _unchanged


def skipCUDAMemoryLeakCheckIf(condition: bool) -> _Decorator:
    """A decorator that does nothing: no GPU memory is tracked."""
    return _unchanged


def skipCUDANonDefaultStreamIf(condition: bool) -> _Decorator:
    """A decorator that does nothing: there are no streams."""
    return _unchanged


def serialTest(condition: bool = True) -> _Decorator:
    """A decorator that does nothing: the test runner schedules tests."""
    return _unchanged


def markDynamoStrictTest(cls_or_func: Any = None, nopython: bool = False) -> Any:
    """Return the argument unchanged, or a decorator that does: tests are not compiled."""
    return _unchanged if cls_or_func is None else cls_or_func


def unMarkDynamoStrictTest(cls: Any = None) -> Any:
    """Return the argument unchanged, or a decorator that does: tests are not compiled."""
    return _unchanged if cls is None else cls


def _unchanged(test: Any) -> Any:
    return test


xfailIfWindows = xfailIf(IS_WINDOWS)
xfailIfLinux = xfailIf(IS_LINUX)
xfailIfS390X = xfailIf(IS_S390X)
xfailIfTorchDynamo = xfailIf(TEST_WITH_TORCHDYNAMO)

__all__ = [
    *(name for name in list(globals()) if name.startswith(("IS_", "TEST_", "skip", "xfail"))),
    "markDynamoStrictTest",
    "requires_cuda",
    "requires_mkl",
    "requires_onednn",
    "serialTest",
    "slowTest",
    "slowTestIf",
    "unMarkDynamoStrictTest",
]
