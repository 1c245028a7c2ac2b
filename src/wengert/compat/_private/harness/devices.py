"""``torch.testing._internal.common_device_type``: one test for each device, dtype and parameter."""

from __future__ import annotations

import inspect
import os
import unittest
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ClassVar, NamedTuple

from wengert.compat._private.harness import op_cases
from wengert.compat._private.harness.cases import TestCase
from wengert.compat._private.harness.op_cases import *  # noqa: F403
from wengert.compat._private.harness.parameters import (
    Case,
    add_test,
    cases_of,
    is_parametrized,
    written_test,
)
from wengert.core.dtypes import dtype as dtype_type
from wengert.core.dtypes import float8_e4m3fn as e4m3_type
from wengert.core.dtypes import float8_e5m2 as e5m2_type

_Test = Callable[..., Any]


class tol(NamedTuple):
    """An absolute and a relative tolerance."""

    atol: float
    rtol: float


class DeviceTypeTestBase(TestCase):
    """What tests that get a device derive from."""

    device_type: ClassVar[str] = "generic"

    @classmethod
    def get_primary_device(cls) -> str:
        """The device that tests run on."""
        return cls.device_type

    @classmethod
    def get_all_devices(cls) -> list[str]:
        """All devices of this kind."""
        return [cls.get_primary_device()]


class CPUTestBase(DeviceTypeTestBase):
    """Tests on the CPU, the one device there is."""

    device_type = "cpu"


def get_device_type_test_bases() -> list[type[DeviceTypeTestBase]]:
    """The bases of the devices there are."""
    return [CPUTestBase]


def get_all_device_types() -> list[str]:
    """The kinds of devices there are."""
    return ["cpu"]


def instantiate_device_type_tests(
    generic_test_class: type,
    scope: dict[str, Any],
    except_for: str | Iterable[str] | None = None,
    only_for: str | Iterable[str] | None = None,
    include_lazy: bool = False,
    allow_mps: bool = False,
    allow_xpu: bool = False,
) -> None:
    """Put the class of each device into `scope`, in place of the generic one.

    A test called ``test_sum`` becomes ``test_sum_cpu``, with its dtype and parameters behind it
    where it has any, and gets them as the arguments `device`, `dtype` and their names.
    """
    scope.pop(generic_test_class.__name__, None)
    for base in get_device_type_test_bases():
        kind = base.device_type
        if kind in _names(except_for) or (only_for is not None and kind not in _names(only_for)):
            continue
        name = f"{generic_test_class.__name__}{kind.upper()}"
        generic = type(f"_{name}", (generic_test_class,), {"__module__": scope["__name__"]})
        members: dict[str, Any] = {
            "__module__": scope["__name__"],
            "device_type": kind,
            "get_primary_device": base.__dict__.get("get_primary_device")
            or DeviceTypeTestBase.__dict__["get_primary_device"],
            "get_all_devices": DeviceTypeTestBase.__dict__["get_all_devices"],
        }
        members |= dict.fromkeys(_tests_of(generic_test_class))  # the generic ones do not run
        cls = type(name, (generic,), members)
        for test_name, test in _tests_of(generic_test_class).items():
            for case, arguments in _device_cases(test, kind):
                words = (test_name, case.name, kind, *map(_dtype_word, arguments["dtypes"]))
                decorated = _decorated_case(case, generic_test_class, test, kind)
                written = written_test(
                    test, "_".join(filter(None, words)), decorated, **arguments["keywords"]
                )
                add_test(cls, _within_tolerances(written, arguments["dtypes"]))
        scope[name] = cls


def _names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _tests_of(cls: type) -> dict[str, _Test]:
    return {
        name: test
        for base in reversed(cls.__mro__)
        if issubclass(base, unittest.TestCase)
        for name, test in vars(base).items()
        if name.startswith("test") and inspect.isfunction(test)
    }


def _decorated_case(case: Case, generic: type, test: _Test, kind: str) -> Case:
    """The case with the decorators that its subject has for a test."""
    if case.subject is None:
        return case
    dtype, arguments = case.arguments.get("dtype"), case.arguments
    more = case.subject.get_decorators(generic.__name__, test.__name__, kind, dtype, arguments)
    return case._replace(decorators=(*case.decorators, *more))


def _dtype_word(dtype: dtype_type) -> str:
    return dtype.name


def _device_cases(test: _Test, device: str) -> Iterator[tuple[Case, dict[str, Any]]]:
    """The cases of a test on a device, with the dtypes of each."""
    takes = inspect.signature(inspect.unwrap(test)).parameters
    place: dict[str, Any] = {"devices": [device]} if "devices" in takes else {"device": device}
    by_device = getattr(test, "dtypes_by_device", {})
    groups = by_device.get(device, by_device.get("all", [()]))
    for case in cases_of(test) if is_parametrized(test) else [Case("", {})]:
        if isinstance(own := case.arguments.get("dtype"), dtype_type):
            yield case, {"keywords": place, "dtypes": (own,)}
            continue
        for group in groups:
            several = isinstance(group, tuple)
            types = group if several else (group,)
            keywords = dict(place)
            if types:
                keywords["dtypes" if several and "dtypes" in takes else "dtype"] = group
            yield case, {"keywords": keywords, "dtypes": types}


def _within_tolerances(written: _Test, types: tuple[dtype_type, ...]) -> _Test:
    """The test with the tolerances that decorators gave it for one of its dtypes."""
    overrides = getattr(written, "tolerance_overrides", {})
    chosen = [overrides[dtype] for dtype in types if dtype in overrides]
    if not chosen:
        return written

    @wraps(written)
    def run(self: TestCase, *args: Any, **kwargs: Any) -> Any:
        before = self.precision, self.rel_tol
        self.precision = max(self.precision, *(t.atol for t in chosen), 0)
        self.rel_tol = max(self.rel_tol, *(t.rtol for t in chosen), 0)
        try:
            return written(self, *args, **kwargs)
        finally:
            self.precision, self.rel_tol = before

    del run.__wrapped__
    return run


class dtypes:
    """Run a test for each of the dtypes, on `device_type`; of tuples, for each tuple."""

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        self.args, self.device_type = args, device_type

    def __call__(self, fn: _Test) -> _Test:
        by_device = {**getattr(fn, "dtypes_by_device", {}), self.device_type: self.args}
        fn.dtypes_by_device = by_device  # type: ignore[attr-defined]
        return fn


def _dtypes_on(device: str) -> Callable[..., dtypes]:
    def decorator(*args: Any) -> dtypes:
        return dtypes(*args, device_type=device)

    return decorator


dtypesIfCPU, dtypesIfCUDA, dtypesIfMPS, dtypesIfXPU, dtypesIfHPU, dtypesIfPRIVATEUSE1 = map(
    _dtypes_on, ("cpu", "cuda", "mps", "xpu", "hpu", "privateuse1")
)


class toleranceOverride:
    """Compare with these tolerances, a `tol` for each dtype."""

    def __init__(self, d: dict[dtype_type, tol]) -> None:
        self.d = d

    def __call__(self, fn: _Test) -> _Test:
        fn.tolerance_overrides = self.d  # type: ignore[attr-defined]
        return fn


class precisionOverride(toleranceOverride):
    """Compare with these absolute tolerances, one for each dtype."""

    def __init__(self, d: dict[dtype_type, float]) -> None:
        super().__init__({dtype: tol(atol, 0) for dtype, atol in d.items()})


def _on_devices(holds: Callable[[str], bool], reason: str) -> Callable[[_Test], _Test]:
    """A decorator that skips where the device of the test is not one of these."""

    def decorator(fn: _Test) -> _Test:
        @wraps(fn)
        def run(self: DeviceTypeTestBase, *args: Any, **kwargs: Any) -> Any:
            if not holds(self.device_type):
                raise unittest.SkipTest(reason)
            return fn(self, *args, **kwargs)

        return run

    return decorator


def onlyOn(device_type: str | list[str]) -> Callable[[_Test], _Test]:
    """Run on these devices."""
    return _on_devices(lambda d: d in _names(device_type), f"runs on {device_type}")


onlyCPU, onlyCUDA, onlyMPS, onlyXPU, onlyHPU, onlyPRIVATEUSE1 = map(
    onlyOn, ("cpu", "cuda", "mps", "xpu", "hpu", "privateuse1")
)
onlyAccelerator = _on_devices(lambda d: d != "cpu", "runs on accelerators")
onlyNativeDeviceTypes = onlyOn(["cpu", "cuda", "xpu", "meta", "mps", "mtia"])


def onlyNativeDeviceTypesAnd(devices: Iterable[str] = ()) -> Callable[[_Test], _Test]:
    """Run on PyTorch's own devices and these."""
    return onlyOn(["cpu", "cuda", "xpu", "meta", "mps", "mtia", *devices])


def _skip_on(device: str) -> Callable[[_Test], _Test]:
    return _on_devices(lambda d: d != device, f"not on {device}")


skipMeta, skipXLA, skipMPS, skipHPU, skipXPU, skipLazy, skipPRIVATEUSE1 = map(
    _skip_on, ("meta", "xla", "mps", "hpu", "xpu", "lazy", "privateuse1")
)


def _skip_if_on(device: str | None) -> Callable[[bool | str, str], Callable[[_Test], _Test]]:
    def skip_if(dep: bool | str, reason: str) -> Callable[[_Test], _Test]:
        """Skip where the condition holds, or the attribute of the test class with its name."""

        def decorator(fn: _Test) -> _Test:
            @wraps(fn)
            def run(self: DeviceTypeTestBase, *args: Any, **kwargs: Any) -> Any:
                holds = getattr(self, dep, False) if isinstance(dep, str) else dep
                if holds and device in (None, self.device_type):
                    raise unittest.SkipTest(reason)
                return fn(self, *args, **kwargs)

            return run

        return decorator

    return skip_if


skipCPUIf, skipCUDAIf, skipMPSIf, skipXPUIf, skipMetaIf, skipHPUIf, skipXLAIf = map(
    _skip_if_on, ("cpu", "cuda", "mps", "xpu", "meta", "hpu", "xla")
)
skipCPUIfNoLapack = skipCPUIf(False, "LAPACK is SciPy's")
skipCPUIfNoFFT = skipCPUIf(False, "transforms are SciPy's")
skipCPUIfNoMkl = skipCPUIfNoMklSparse = skipCPUIf(True, "needs MKL")
skipCPUIfNoMkldnn = skipCPUIf(True, "needs oneDNN")
skipCUDAIfNoMagma = skipCUDAIfNoCusolver = skipCUDAIf(True, "needs CUDA")
skipCUDAIfNoMagmaAndNoCusolver = skipCUDAIfNoMagmaAndNoLinalgsolver = skipCUDAIfNoMagma
skipCUDAIfNoCudnn = skipCUDAIfNoCusparseGeneric = skipCUDAIfNoSparseGeneric = skipCUDAIfNoMagma
skipCUDAIfNoMiopen = skipCUDAIfNoMagma
skipCUDAIfRocm = skipCUDAIfNotRocm = skipCUDAIfMiopen = skipCUDAIfNoMagma


def skipIf(dep: bool | str, reason: str) -> Callable[[_Test], _Test]:
    """Skip where the condition holds, or the attribute of the test class with its name."""
    return _skip_if_on(None)(dep, reason)


def skipCUDAVersionIn(versions: Any = None) -> Callable[[_Test], _Test]:
    """Skip a test on CUDA, which is not there."""
    return skipCUDAIfNoMagma


onlyCUDAAndPRIVATEUSE1 = onlyOn(["cuda", "privateuse1"])
PYTORCH_CUDA_MEMCHECK = TEST_WITH_ROCM = False
PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY = "PYTORCH_TESTING_DEVICE_ONLY_FOR"
PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY = "PYTORCH_TESTING_DEVICE_EXCEPT_FOR"


def get_desired_device_type_test_bases(
    except_for: Any = None, only_for: Any = None, *args: Any, **options: Any
) -> list[type[DeviceTypeTestBase]]:
    """The bases of the devices that tests are to run on."""
    return [
        base for base in get_device_type_test_bases()
        if base.device_type not in _names(except_for)
        and (only_for is None or base.device_type in _names(only_for))
    ]  # fmt: skip


def disablecuDNN(fn: _Test) -> _Test:
    """The function as it is: there is no cuDNN."""
    return fn


def disableMkldnn(fn: _Test) -> _Test:
    """The function as it is: there is no oneDNN."""
    return fn


def has_cusolver() -> bool:
    """False: there is no CUDA."""
    return False


def has_hipsolver() -> bool:
    """False: there is no ROCm."""
    return False


def skipCUDAIfRocmVersionLessThan(version: Any = None) -> Callable[[_Test], _Test]:
    """Skip a test on CUDA, which is not there."""
    return skipCUDAIfRocm


def _expected_failure_on(device: str) -> Callable[[_Test], _Test]:
    def decorator(fn: _Test) -> _Test:
        @wraps(fn)
        def run(self: DeviceTypeTestBase, *args: Any, **kwargs: Any) -> Any:
            if self.device_type != device:
                return fn(self, *args, **kwargs)
            try:
                fn(self, *args, **kwargs)
            except Exception:
                return None
            return self.fail("expected to fail, but passed")

        return run

    return decorator


(
    expectedFailureCPU, expectedFailureCUDA, expectedFailureXPU, expectedFailureMeta,
    expectedFailureXLA, expectedFailureHPU, expectedFailureMPS,
) = map(_expected_failure_on, ("cpu", "cuda", "xpu", "meta", "xla", "hpu", "mps"))  # fmt: skip
expectedFailureMPSPre14 = expectedFailureMPSPre15 = expectedFailureMPS


class deviceCountAtLeast:
    """Run where there are so many devices of a kind; the test gets them as `devices`."""

    def __init__(self, num_required_devices: int) -> None:
        self.required = num_required_devices

    def __call__(self, fn: _Test) -> _Test:
        @wraps(fn)
        def run(self: DeviceTypeTestBase, devices: list[str], *args: Any, **kwargs: Any) -> Any:
            if len(devices) < required:
                raise unittest.SkipTest(f"needs {required} devices, there are {len(devices)}")
            return fn(self, devices, *args, **kwargs)

        required = self.required
        return run


def largeTensorTest(size: int | str, device: str | None = None) -> Callable[[_Test], _Test]:
    """Skip where the machine has less memory than `size`, in bytes or as ``"12GB"``."""
    units = {"GB": 2**30, "MB": 2**20, "KB": 2**10}
    required = int(size[:-2]) * units[size[-2:].upper()] if isinstance(size, str) else size

    def decorator(fn: _Test) -> _Test:
        @wraps(fn)
        def run(self: TestCase, *args: Any, **kwargs: Any) -> Any:
            if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < required:
                raise unittest.SkipTest(f"needs {size} of memory")
            return fn(self, *args, **kwargs)

        return run

    return decorator


__all__ = [
    *op_cases.__all__,
    "CPUTestBase",
    "DeviceTypeTestBase",
    "PYTORCH_CUDA_MEMCHECK",
    "PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY",
    "PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY",
    "TEST_WITH_ROCM",
    "deviceCountAtLeast",
    "disableMkldnn",
    "disablecuDNN",
    *(name for name in list(globals()) if name.startswith(("dtypes", "expectedFailure"))),
    "e4m3_type",
    "e5m2_type",
    "get_all_device_types",
    "get_desired_device_type_test_bases",
    "get_device_type_test_bases",
    "has_cusolver",
    "has_hipsolver",
    "instantiate_device_type_tests",
    "largeTensorTest",
    *(name for name in list(globals()) if name.startswith(("only", "skip"))),
    "precisionOverride",
    "tol",
    "toleranceOverride",
]
