"""``torch.testing._internal.common_utils``: all of the harness, and what tests do around it."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import io
import os
import socket
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import numpy as np

import wengert
from wengert import Tensor, autograd
from wengert.compat._private.harness import (
    attempts,
    cases,
    conditions,
    creation,
    matrices,
    parameters,
    surroundings,
)
from wengert.compat._private.harness.attempts import *  # noqa: F403
from wengert.compat._private.harness.cases import *  # noqa: F403
from wengert.compat._private.harness.cases import warn_always
from wengert.compat._private.harness.conditions import *  # noqa: F403
from wengert.compat._private.harness.creation import *  # noqa: F403
from wengert.compat._private.harness.matrices import *  # noqa: F403
from wengert.compat._private.harness.parameters import *  # noqa: F403
from wengert.compat._private.harness.surroundings import *  # noqa: F403
from wengert.core.dtypes import dtype as dtype_type
from wengert.random import fork_rng
from wengert.testing import make_tensor

_Test = Callable[..., Any]

FILE_SCHEMA = "file:///" if conditions.IS_WINDOWS else "file://"
GRADCHECK_NONDET_TOL = 0.0
NATIVE_DEVICES = ("cpu", "cuda", "xpu", "meta", "mps", "mtia")

numpy_to_torch_dtype_dict = {
    dtype.np.type: dtype
    for dtype in (
        wengert.bool, wengert.uint8, wengert.uint16, wengert.uint32, wengert.uint64, wengert.int8,
        wengert.int16, wengert.int32, wengert.int64, wengert.float16, wengert.float32,
        wengert.float64, wengert.complex64, wengert.complex128,
    )
}  # fmt: skip
torch_to_numpy_dtype_dict = {
    **{dtype: scalar for scalar, dtype in numpy_to_torch_dtype_dict.items()},
    wengert.bfloat16: np.float32,
    wengert.complex32: np.complex64,
}
freeze_rng_state = fork_rng
set_warn_always_context = warn_always


def gradcheck(fn: _Test, inputs: Any, **options: Any) -> bool:
    """``torch.autograd.gradcheck``, of gradients by batches too unless told otherwise."""
    return autograd.gradcheck(fn, inputs, **{"check_batched_grad": True} | options)


def gradgradcheck(fn: _Test, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """``torch.autograd.gradgradcheck``, of gradients by batches too unless told otherwise."""
    options = {"check_batched_grad": True} | options
    return autograd.gradgradcheck(fn, inputs, grad_outputs, **options)


def _assertGradAndGradgradChecks(test_case: Any, fn: _Test, inputs: Any, **options: Any) -> None:
    """First and second derivatives agree with finite differences."""
    test_case.assertTrue(gradcheck(fn, inputs, **options))
    test_case.assertTrue(gradgradcheck(fn, inputs, **options))


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """No garbage collector within the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def set_default_dtype(dtype: dtype_type) -> Iterator[None]:
    """Another default dtype within the block."""
    before = wengert.get_default_dtype()
    wengert.set_default_dtype(dtype)
    try:
        yield
    finally:
        wengert.set_default_dtype(before)


@contextlib.contextmanager
def set_cwd(path: str) -> Iterator[None]:
    """Another working directory within the block."""
    with contextlib.chdir(path):
        yield


class DeterministicGuard(contextlib.ContextDecorator):
    """``torch.use_deterministic_algorithms`` within a block."""

    def __init__(
        self,
        deterministic: bool,
        *,
        warn_only: bool = False,
        fill_uninitialized_memory: bool = True,
    ) -> None:
        self.settings = deterministic, warn_only

    def __enter__(self) -> None:
        self.before = (
            wengert.are_deterministic_algorithms_enabled(),
            wengert.is_deterministic_algorithms_warn_only_enabled(),
        )
        wengert.use_deterministic_algorithms(self.settings[0], warn_only=self.settings[1])

    def __exit__(self, *exception: object) -> None:
        wengert.use_deterministic_algorithms(self.before[0], warn_only=self.before[1])


def wrapDeterministicFlagAPITest(fn: _Test) -> _Test:
    """The test, after which deterministic algorithms are as they were."""

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with DeterministicGuard(
            wengert.are_deterministic_algorithms_enabled(),
            warn_only=wengert.is_deterministic_algorithms_warn_only_enabled(),
        ):
            return fn(*args, **kwargs)

    return run


def suppress_warnings(fn: _Test) -> _Test:
    """The test with no warnings."""

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings(action="ignore"):
            return fn(*args, **kwargs)

    return run


class BytesIOContext(io.BytesIO):
    """A ``BytesIO`` that stays open at the end of its block."""

    def __exit__(self, *exception: object) -> None:
        pass


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The path of a file that exists, closed, until the end of the block."""
    kwargs["delete"] = False
    with tempfile.NamedTemporaryFile(*args, **kwargs) as file:
        pass
    try:
        yield file.name
    finally:
        os.unlink(file.name)


def TemporaryDirectoryName(suffix: str | None = None) -> contextlib.AbstractContextManager[str]:
    """The path of a directory that exists until the end of the block."""
    return tempfile.TemporaryDirectory(suffix=suffix)


def find_free_port() -> int:
    """The number of a TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port: int = probe.getsockname()[1]
        return port


def iter_indices(tensor: Tensor) -> Iterable[Any]:
    """The index of each element."""
    if tensor.dim() < 2:
        return range(tensor.numel())
    return map(tuple, np.ndindex(*tensor.shape))


def is_iterable(obj: Any) -> bool:
    """Whether something can be iterated."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True


def is_iterable_of_tensors(iterable: Any, include_empty: bool = False) -> bool:
    """Whether something holds tensors and nothing else."""
    if isinstance(iterable, Tensor) or not is_iterable(iterable):
        return False
    members = list(iterable)
    return all(isinstance(x, Tensor) for x in members) and (bool(members) or include_empty)


def dtype_name(dtype: dtype_type) -> str:
    """The name of a dtype without its module."""
    return dtype.name


def clone_input_helper(input: Any) -> Any:
    """A clone of a tensor, or of each in a sequence; anything else as it is."""
    if isinstance(input, Tensor):
        return wengert.clone(input)
    return tuple(map(clone_input_helper, input)) if isinstance(input, list | tuple) else input


def get_function_arglist(func: _Test) -> list[str]:
    """The names of a function's arguments."""
    return list(inspect.signature(func).parameters)


def first_sample(self: Any, samples: Iterable[Any]) -> Any:
    """The first of some samples; without one the test is skipped."""
    for sample in samples:
        return sample
    return self.skipTest("there are no samples")


class LazyVal:
    """A truth value that is found out when it is first asked for."""

    def __init__(self, cb: Callable[[], Any]) -> None:
        self._found = functools.cache(cb)

    def __bool__(self) -> bool:
        return bool(self._found())

    def __eq__(self, other: object) -> bool:
        return bool(self._found() == other)

    def __hash__(self) -> int:
        return hash(self._found())


def numpy_to_torch_dtype(np_dtype: Any) -> dtype_type:
    """The dtype of a NumPy scalar type or dtype; KeyError if there is none."""
    return numpy_to_torch_dtype_dict[np.dtype(np_dtype).type]


def has_corresponding_torch_dtype(np_dtype: Any) -> bool:
    """Whether a NumPy dtype is one of tensors."""
    return np.dtype(np_dtype).type in numpy_to_torch_dtype_dict


def bytes_to_scalar(byte_list: list[int], dtype: dtype_type, device: Any) -> Tensor:
    """The number of a dtype whose bytes in memory are these, as a tensor."""
    memory = np.frombuffer(bytes(byte_list), dtype.np)
    return wengert.tensor(memory.item(), dtype=dtype, device=device)


def raise_on_run_directly(file_to_call: str) -> None:
    """Raise RuntimeError: these tests are run by another file."""
    raise RuntimeError(f"These tests are run by: python {file_to_call} TESTNAME")


def load_tests(loader: Any, tests: Iterable[Any], pattern: Any) -> unittest.TestSuite:
    """Those of a module's groups of tests that have some, as unittest asks for them."""
    return unittest.TestSuite(group for group in tests if group.countTestCases())


__all__ = [
    *attempts.__all__,
    *cases.__all__,
    *conditions.__all__,
    *creation.__all__,
    *matrices.__all__,
    *parameters.__all__,
    *surroundings.__all__,
    "FILE_SCHEMA",
    "GRADCHECK_NONDET_TOL",
    "NATIVE_DEVICES",
    "BytesIOContext",
    "DeterministicGuard",
    "LazyVal",
    "TemporaryDirectoryName",
    "TemporaryFileName",
    "_assertGradAndGradgradChecks",
    "bytes_to_scalar",
    "clone_input_helper",
    "disable_gc",
    "dtype_name",
    "find_free_port",
    "first_sample",
    "freeze_rng_state",
    "get_function_arglist",
    "gradcheck",
    "gradgradcheck",
    "has_corresponding_torch_dtype",
    "is_iterable",
    "is_iterable_of_tensors",
    "iter_indices",
    "load_tests",
    "make_tensor",
    "numpy_to_torch_dtype",
    "numpy_to_torch_dtype_dict",
    "raise_on_run_directly",
    "set_cwd",
    "set_default_dtype",
    "set_warn_always_context",
    "suppress_warnings",
    "torch_to_numpy_dtype_dict",
    "wrapDeterministicFlagAPITest",
]
