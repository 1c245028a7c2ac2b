"""Process-wide settings: threads, determinism, precision."""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from wengert.core.device import device as make_device
from wengert.core.storage import line_of
from wengert.core.tensor import caller, getframe
from wengert.kernels import buffers, derived, jit
from wengert.kernels.products import blas


class _Settings:
    interop_threads = 1
    deterministic = False
    warn_only = False
    precision = "highest"
    warn_always = False


def set_num_threads(num: int) -> None:
    """Let kernels and matrix products use at most `num` threads.

    At first it is OMP_NUM_THREADS, or the number of cores. Raises RuntimeError unless `num` is
    a positive int.

    >>> import wengert
    >>> wengert.set_num_threads(1)
    >>> wengert.get_num_threads()
    1
    """
    blas.set_threads(_checked_count("set_num_threads", num))


def get_num_threads() -> int:
    """How many threads kernels and matrix products may use.

    >>> import wengert
    >>> wengert.get_num_threads() >= 1
    True
    """
    return jit.get_threads()


def empty_cache() -> None:
    """Give the memory that is kept for arrays to come back to the system.

    Memory of large arrays is kept when they are gone, up to a limit, and used again. That
    begins when kernels are first compiled; without them (or with WENGERT_JIT=0) none is kept.
    What kernels have derived from weights, to use again, is given up as well.

    >>> import wengert
    >>> wengert.empty_cache()
    >>> wengert.memory_stats()["cached"]
    0
    """
    derived.drop_all()
    buffers.trim(0)


def memory_stats() -> dict[str, int]:
    """The memory of arrays of 64 KiB and more, in bytes; all zeros where none is kept.

    `allocated` is in use now, `peak` was at most, `cached` is kept for later, and may be up to
    `limit`. `hits` counts the arrays that got memory that was kept, `misses` the others.
    `returned` went back to the system because nobody had needed it for a while: about a second,
    longer where that turns out to be too short for the program's steps.

    >>> import wengert
    >>> sorted(wengert.memory_stats())
    ['allocated', 'cached', 'hits', 'limit', 'misses', 'peak', 'returned']
    """
    return buffers.counts()


def reset_peak_memory_stats() -> None:
    """Have the `peak` of `memory_stats` start again from what is in use now.

    >>> import wengert
    >>> wengert.reset_peak_memory_stats()
    """
    buffers.reset_peak()


def set_memory_limit(size: int) -> None:
    """Keep at most `size` bytes for arrays to come; 0 keeps nothing.

    At first it is an eighth of the machine's memory but no more than 1 GiB, or as many MiB as
    the environment variable WENGERT_BUFFERS says when the process starts; with
    WENGERT_BUFFERS=0, arrays have NumPy's own memory for good. Raises ValueError for a
    negative size.

    >>> import wengert
    >>> wengert.set_memory_limit(256 << 20)
    """
    if size < 0:
        raise ValueError(f"set_memory_limit expects a number of bytes, but got size={size}")
    buffers.set_limit(size)


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


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a word or number.

    Args:
        debug_mode: ``"default"`` or 0; ``"warn"`` or 1; ``"error"`` or 2. RuntimeError for others,
            TypeError for neither a word nor a number.

    >>> import wengert
    >>> wengert.set_deterministic_debug_mode("default")
    >>> wengert.get_deterministic_debug_mode()
    0
    """
    if not isinstance(debug_mode, int | str):
        raise TypeError(
            "set_deterministic_debug_mode(): argument 'debug_mode' must be str or int, not"
            f" {type(debug_mode).__name__}"
        )
    known = _DEBUG_MODES if isinstance(debug_mode, str) else range(3)
    if debug_mode not in known:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of {', '.join(map(str, known))}, but got"
            f" {debug_mode}"
        )
    level = _DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """What `set_deterministic_debug_mode` or `use_deterministic_algorithms` has set, as a number.

    >>> import wengert
    >>> wengert.use_deterministic_algorithms(False)
    >>> wengert.get_deterministic_debug_mode()
    0
    """
    return 0 if not _Settings.deterministic else 1 if _Settings.warn_only else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Keep the wish: float32 products are always computed in float32.

    >>> import wengert
    >>> wengert.set_float32_matmul_precision("high")
    >>> wengert.get_float32_matmul_precision()
    'high'
    """
    if precision in ("highest", "high", "medium"):
        from wengert.backends.precision import set_products

        _Settings.precision = precision
        set_products(precision)
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
    kind = "cpu" if device is None else make_device(device).type
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
    "empty_cache",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_memory_limit",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]
