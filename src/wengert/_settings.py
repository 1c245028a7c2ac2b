"""Process-wide settings: threads, determinism, precision."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from wengert import _device
from wengert._core import caller, getframe
from wengert._storage import line_of
from wengert.kernels import blas


class _Settings:
    threads = os.cpu_count() or 1
    interop_threads = 1
    deterministic = False
    warn_only = False
    precision = "highest"
    warn_always = False


def set_num_threads(num: int) -> None:
    """Let matrix products use at most `num` threads.

    Raises RuntimeError unless `num` is a positive int. Without the OpenBLAS that NumPy's
    wheels carry, the number is only kept.

    >>> import wengert
    >>> wengert.set_num_threads(1)
    >>> wengert.get_num_threads()
    1
    """
    _Settings.threads = _checked_count("set_num_threads", num)
    both = blas.controls()
    if both is not None:
        both[0](num)


def get_num_threads() -> int:
    """How many threads a matrix product may use.

    >>> import wengert
    >>> wengert.get_num_threads() >= 1
    True
    """
    both = blas.controls()
    return _Settings.threads if both is None else both[1]()


def set_num_interop_threads(num: int) -> None:
    """Keep the number; operations never run side by side here.

    >>> import wengert
    >>> wengert.set_num_interop_threads(1)
    """
    _Settings.interop_threads = _checked_count("set_num_interop_threads", num)


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was given; 1 at first.

    >>> import wengert
    >>> wengert.get_num_interop_threads()
    1
    """
    return _Settings.interop_threads


def _checked_count(name: str, num: int) -> int:
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"{name} expects a positive integer, but got {num}")
    return num


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep the wish, which is always granted: every operation here is deterministic.

    >>> import wengert
    >>> wengert.use_deterministic_algorithms(True)
    >>> wengert.are_deterministic_algorithms_enabled()
    True
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "use_deterministic_algorithms(): argument 'mode' must be bool, not"
            f" {type(mode).__name__}"
        )
    _Settings.deterministic, _Settings.warn_only = mode, bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was given; False at first.

    >>> import wengert
    >>> wengert.use_deterministic_algorithms(False)
    >>> wengert.are_deterministic_algorithms_enabled()
    False
    """
    return _Settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that `use_deterministic_algorithms` was given.

    >>> import wengert
    >>> wengert.use_deterministic_algorithms(False, warn_only=True)
    >>> wengert.is_deterministic_algorithms_warn_only_enabled()
    True
    """
    return _Settings.warn_only


def set_float32_matmul_precision(precision: str) -> None:
    """Keep the wish: float32 products are always computed in float32.

    >>> import wengert
    >>> wengert.set_float32_matmul_precision("high")
    >>> wengert.get_float32_matmul_precision()
    'high'
    """
    if precision in ("highest", "high", "medium"):
        _Settings.precision = precision
        return
    code, lasti = caller(getframe(1))
    warnings.warn_explicit(
        f"{precision!r} is not one of 'highest', 'high', or 'medium'; the current"
        " set_float32_matmul_precision call has no effect.",
        UserWarning,
        code.co_filename,
        line_of(code, lasti),
    )


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was given; ``"highest"`` at first.

    >>> import wengert
    >>> wengert.set_float32_matmul_precision("highest")
    >>> wengert.get_float32_matmul_precision()
    'highest'
    """
    return _Settings.precision


def set_flush_denormal(mode: bool) -> bool:
    """False: the mode of the processor is left alone.

    >>> import wengert
    >>> wengert.set_flush_denormal(True)
    False
    """
    return False


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a kind of device, such as `wengert.cuda`; of the CPU if None.

    >>> import wengert
    >>> wengert.get_device_module("cpu").is_available()
    True
    """
    kind = "cpu" if device is None else _device.device(device).type
    try:
        return import_module(f"wengert.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None


def set_warn_always(b: bool) -> None:
    """Keep the wish: what warns once does so all the same.

    >>> import wengert
    >>> wengert.set_warn_always(False)
    """
    _Settings.warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given; False at first.

    >>> import wengert
    >>> wengert.is_warn_always_enabled()
    False
    """
    return _Settings.warn_always


__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]
