"""Tests that are tried again, run under other settings, or run several times."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import unittest
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import wengert
from wengert.backends import cuda, precision
from wengert.compat._private import future_settings as future
from wengert.compat._private.harness.parameters import Case, _TestParametrizer

_Test = Callable[..., Any]

ADDRESS_IN_USE = "Address already in use"
CONNECT_TIMEOUT = "connect() timed out."


def retry(
    ExceptionToCheck: Any,  # noqa: N803 (PyTorch's name)
    tries: int = 3,
    delay: float = 3,
    skip_after_retries: bool = False,
) -> Callable[[_Test], _Test]:
    """Call a function again after an exception, with pauses; the last one passes or skips."""

    def decorate(f: _Test) -> _Test:
        @wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            for _ in range(tries - 1):
                with contextlib.suppress(ExceptionToCheck):
                    return f(*args, **kwargs)
                time.sleep(delay)
            try:
                return f(*args, **kwargs)
            except ExceptionToCheck as error:
                if skip_after_retries:
                    raise unittest.SkipTest(f"{tries} times in a row: {error}") from error
                raise

        return call

    return decorate


def retry_on_connect_failures(
    func: _Test | None = None, connect_errors: Iterable[str] = (ADDRESS_IN_USE,)
) -> Any:
    """Run a test again, up to ten times, while a connection fails."""

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            for attempt in range(10):
                try:
                    return test(*args, **kwargs)
                except RuntimeError as error:
                    if attempt == 9 or not any(text in str(error) for text in connect_errors):
                        raise
                time.sleep(random.random())
            raise AssertionError

        return run

    return decorate if func is None else decorate(func)


@contextlib.contextmanager
def skip_exception_type(exc_type: type[BaseException]) -> Iterator[None]:
    """Skip the test where the block raises such an exception."""
    try:
        yield
    except exc_type as error:
        raise unittest.SkipTest(f"not implemented: {error}") from error


def run_concurrently(
    worker_func: Any, num_threads: int | None = None, args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> list[Any]:  # fmt: skip
    """What a function returns in each of several threads, or each of several functions in one.

    All begin at once; an exception of any is raised here.
    """
    functions = [worker_func] * (num_threads or 1) if callable(worker_func) else [*worker_func]
    barrier, results = threading.Barrier(len(functions)), [None] * len(functions)
    errors: list[BaseException] = []

    def work(i: int, function: _Test) -> None:
        try:
            barrier.wait()
            results[i] = function(*args, **(kwargs or {}))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors.pop()
    return results


def coalescedonoff(f: _Test) -> _Test:
    """Run a test of sparse tensors twice: ``coalesced=True`` and ``coalesced=False``."""

    @wraps(f)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        for coalesced in (True, False):
            f(self, *args, **kwargs, coalesced=coalesced)

    return run


def patch_test_members(updates: dict[str, Any]) -> Callable[[_Test], _Test]:
    """Run a test while attributes of its object have other values."""

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            before = {name: getattr(self, name) for name in updates}
            vars(self).update(updates)
            try:
                return test(self, *args, **kwargs)
            finally:
                for name, value in before.items():
                    setattr(self, name, value)

        return run

    return decorate


@contextlib.contextmanager
def _another_tensor_type(tensor_type: Any) -> Iterator[None]:
    """Another default type of tensors within the block."""
    before = wengert.get_default_dtype()
    wengert.set_default_tensor_type(tensor_type)
    try:
        yield
    finally:
        wengert.set_default_dtype(before)


set_default_tensor_type = _another_tensor_type  # PyTorch's name for it


class SwapTensorsGuard(contextlib.ContextDecorator):
    """Whether converting modules swaps their parameters, within a block; None leaves it."""

    def __init__(self, use_swap_tensors: bool | None) -> None:
        self.use_swap_tensors = use_swap_tensors

    def __enter__(self) -> None:
        self.before = future.get_swap_module_params_on_conversion()
        if self.use_swap_tensors is not None:
            future.set_swap_module_params_on_conversion(self.use_swap_tensors)

    def __exit__(self, *exception: object) -> None:
        future.set_swap_module_params_on_conversion(self.before)


def wrapSwapTensorsTest(swap: bool | None = None) -> Callable[[_Test], _Test]:
    """Run a test in a `SwapTensorsGuard`."""

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            with SwapTensorsGuard(swap):
                return test(*args, **kwargs)

        return run

    return decorate


class swap(_TestParametrizer):
    """Run a test with and without swapping of parameters, as `swap_values` say."""

    def __init__(self, swap_values: Iterable[bool]) -> None:
        self.swap_values = swap_values

    def _cases(self, test: _Test) -> Iterator[Case]:
        for value in self.swap_values:
            yield Case(f"swap_{value}", {}, (wrapSwapTensorsTest(value),))


def _restoring(get: Callable[[], Any], put: Callable[[Any], Any]) -> Callable[[_Test], _Test]:
    """A decorator after whose tests a setting is as before."""

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            before = get()
            try:
                return test(*args, **kwargs)
            finally:
                put(before)

        return run

    return decorate


_PRECISE = (
    precision.mkldnn_conv, precision.mkldnn_rnn, precision.mkldnn_matmul, precision.cuda_conv,
    precision.cuda_rnn, precision.cuda_matmul,
)  # fmt: skip


def _set_precisions(values: Iterable[str]) -> None:
    for operations, value in zip(_PRECISE, values, strict=True):
        operations.fp32_precision = value


recover_orig_fp32_precision = _restoring(
    lambda: [operations.fp32_precision for operations in _PRECISE], _set_precisions
)
setBlasBackendsToDefaultFinally = _restoring(
    cuda.preferred_blas_library, cuda.preferred_blas_library
)
setLinalgBackendsToDefaultFinally = _restoring(
    cuda.preferred_linalg_library, cuda.preferred_linalg_library
)
setSdpaBackendsToDefaultFinally = _restoring(
    cuda.preferred_rocm_fa_library, cuda.preferred_rocm_fa_library
)


def with_ieee_matmul_precision(f: _Test) -> _Test:
    """Run a test with matrix products that are as precise as float32."""

    @recover_orig_fp32_precision
    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        wengert.set_float32_matmul_precision("highest")
        return f(*args, **kwargs)

    return run


__all__ = [
    "ADDRESS_IN_USE",
    "CONNECT_TIMEOUT",
    "SwapTensorsGuard",
    "coalescedonoff",
    "patch_test_members",
    "recover_orig_fp32_precision",
    "retry",
    "retry_on_connect_failures",
    "run_concurrently",
    "setBlasBackendsToDefaultFinally",
    "setLinalgBackendsToDefaultFinally",
    "setSdpaBackendsToDefaultFinally",
    "set_default_tensor_type",
    "skip_exception_type",
    "swap",
    "with_ieee_matmul_precision",
    "wrapSwapTensorsTest",
]
