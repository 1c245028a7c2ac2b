"""Facts about the machine that tests depend on, and decorators that skip where they do not hold."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import sysconfig
import unittest
from collections.abc import Callable, Iterable
from functools import partial, wraps
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
IS_FILESYSTEM_UTF8_ENCODING = sys.getfilesystemencoding() == "utf-8"
IS_CPU_CAPABILITY_SVE = IS_CPU_CAPABILITY_SVE256 = IS_CPU_EXT_SVE_SUPPORTED = False
MACOS_VERSION = float(".".join(platform.mac_ver()[0].split(".")[:2]) or -1)
NO_MULTIPROCESSING_SPAWN = False

TEST_NUMPY = True
TEST_SCIPY = True
TEST_LAPACK = True
TEST_NUMBA = _has("numba")
TEST_DILL = _has("dill")
TEST_TRANSFORMERS = _has("transformers")
TEST_OPT_EINSUM = _has("opt_einsum")
TEST_LIBROSA = _has("librosa")
TEST_WITH_TV = _has("torchvision")
TEST_Z3 = _has("z3")
TEST_WITH_SLOW = os.environ.get("PYTORCH_TEST_WITH_SLOW") == "1"

# There is one device, the CPU, and no other vendor's library.
TEST_CUDA = TEST_CUDNN = TEST_MULTIGPU = TEST_XPU = TEST_HPU = TEST_MPS = TEST_PRIVATEUSE1 = False
TEST_ACCELERATOR = TEST_MULTIACCELERATOR = TEST_CUDA_GRAPH = TEST_MAGMA = False
TEST_MKL = TEST_ONEDNN = TEST_ACL = TEST_FAIRSEQ = TEST_WITH_CROSSREF = False
TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_ROCM = TEST_WITH_MTIA = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = False
TEST_WITH_SLOW_GRADCHECK = TEST_SKIP_FAST = TEST_SKIP_CUDAGRAPH = False
TEST_BAILOUTS = TEST_CUDA_CUDSS = TEST_CUDA_GRAPH_CONDITIONAL_NODES = False
TEST_CUDA_PYTHON_BINDINGS = TEST_CUDA_MEM_LEAK_CHECK = TEST_PRIVATEUSE1_DEVICE_TYPE = False
TEST_WITHOUT_COMPILED_AUTOGRAD = True
MI200_ARCH: tuple[str, ...] = ()
MI300_ARCH = MI350_ARCH = NAVI_ARCH = NAVI3_ARCH = NAVI4_ARCH = MI200_ARCH


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
skipIfFreeThreaded = _skip_where(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), "not without Python's lock"
)
skipIfLegacyJitExecutor = _skip_where(False, "not with the old executor of scripts")
skipIfNNModuleInlined = _skip_where(TEST_WITH_TORCHDYNAMO, "not under a compiler")
skipIfNoXNNPACK = _skip_where(True, "needs XNNPACK")
skipIfNoXPU = _skip_where(not TEST_XPU, "needs XPU")
skipIfWindowsXPU = _skip_where(IS_WINDOWS and TEST_XPU, "not on XPU on Windows")
skipRocmIfTorchInductor = _skip_where(TEST_WITH_ROCM, "not on ROCm under a compiler")
runOnRocm = _skip_where(not TEST_WITH_ROCM, "needs ROCm")
requires_cuda_p2p_access = _skip_where(not TEST_MULTIGPU, "needs several GPUs")
requires_cuda = _skip_where(not TEST_CUDA, "needs CUDA")
requires_mkl = _skip_where(not TEST_MKL, "needs MKL")
requires_onednn = _skip_where(not TEST_ONEDNN, "needs oneDNN")


def scoped_load_inline(func: Any) -> Any:
    """Skip a test that compiles C++: there is no interface for it."""
    return unittest.skip("needs a C++ extension")(func)


def slowTestIf(condition: bool) -> _Decorator:
    """`slowTest` where the condition holds."""
    return slowTest if condition else _unchanged


def xfailIf(condition: bool) -> _Decorator:
    """A test that is expected to fail where the condition holds."""
    return unittest.expectedFailure if condition else _unchanged


def lazy_skip_if(condition_fn: Callable[[], bool], reason: str) -> _Decorator:
    """Skip a test where a condition holds when it begins; a class, where it does now."""

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            return unittest.skipIf(condition_fn(), reason)(test)

        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            if condition_fn():
                raise unittest.SkipTest(reason)
            return test(*args, **kwargs)

        return run

    return decorate


def skip_if_pytest(fn: Any) -> Any:
    """Skip a test that pytest runs."""
    return lazy_skip_if(lambda: "PYTEST_CURRENT_TEST" in os.environ, "not under pytest")(fn)


def skipIfPythonVersionMismatch(predicate: Callable[[int, int, int], bool]) -> _Decorator:
    """Skip a test unless `predicate` holds for the version of Python."""
    fits = predicate(*sys.version_info[:3])
    return unittest.skipIf(not fits, f"not on Python {platform.python_version()}")


def skip_but_pass_in_sandcastle(reason: str) -> _Decorator:
    """Skip a test."""
    return unittest.skip(reason)


def skip_but_pass_in_sandcastle_if(condition: bool, reason: str) -> _Decorator:
    """Skip a test where the condition holds."""
    return unittest.skipIf(condition, reason)


def skipIfRocmArch(arch: Any) -> _Decorator:
    """A decorator that does nothing: there is no GPU of that kind."""
    return _unchanged


def skipIfRocmVersionLessThan(version: Any = None) -> _Decorator:
    """A decorator that does nothing: there is no ROCm."""
    return _unchanged


def runOnRocmArch(arch: Any) -> _Decorator:
    """Skip a test: there is no GPU of that kind."""
    return unittest.skip(f"needs a GPU among {arch}")


def runWithoutCompiledAutograd(msg: str = "") -> _Decorator:
    """A decorator that does nothing: backward passes are not compiled."""
    return _unchanged


def xfail_inherited_tests(tests: Iterable[str]) -> _Decorator:
    """A class some of whose inherited tests are expected to fail."""

    def decorate(cls: Any) -> Any:
        for name in tests:
            inherited = getattr(cls, name)

            @wraps(inherited)
            def test(self: Any, *args: Any, inherited: Any = inherited, **kwargs: Any) -> Any:
                return inherited(self, *args, **kwargs)

            setattr(cls, name, unittest.expectedFailure(test))
        return cls

    return decorate


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
xfailIfACL = xfailIf(TEST_ACL)
xfailIfROCm = xfailIf(TEST_WITH_ROCM)
xfailIfPy312Plus = xfailIf(sys.version_info >= (3, 12))

__all__ = [
    *(name for name in list(globals()) if name.startswith(("IS_", "TEST_", "skip", "xfail"))),
    *(name for name in list(globals()) if name.endswith("_ARCH")),
    "MACOS_VERSION",
    "NO_MULTIPROCESSING_SPAWN",
    "lazy_skip_if",
    "markDynamoStrictTest",
    "requires_cuda",
    "requires_cuda_p2p_access",
    "requires_mkl",
    "requires_onednn",
    "runOnRocm",
    "runOnRocmArch",
    "runWithoutCompiledAutograd",
    "scoped_load_inline",
    "serialTest",
    "slowTest",
    "slowTestIf",
    "unMarkDynamoStrictTest",
]
