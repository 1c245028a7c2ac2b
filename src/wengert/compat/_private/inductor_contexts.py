"""Contexts of PyTorch's compilers that change nothing: kernels are kept, backwards compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.compiler import reset


@contextmanager
def fresh_cache(cache_entries: Any = None, dir: Any = None, delete: bool = True) -> Iterator[None]:
    """A context; kernels that are on disk are used in it, too."""
    yield


fresh_inductor_cache = fresh_cache


@contextmanager
def _enable(compiler_fn: Any, dynamic: bool = True, **options: Any) -> Iterator[None]:
    """A context; backwards are part of compiled functions in any case."""
    yield


def run_and_get_code(fn: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """What a function gives; there is no source of its programs, and the list is empty."""
    reset()
    return fn(*args, **kwargs), []


def run_and_get_kernels(
    fn: Any, *args: Any, remove_quote: bool = False, **kwargs: Any
) -> tuple[Any, list[str]]:
    """`run_and_get_code`."""
    return run_and_get_code(fn, *args, **kwargs)


def run_fw_bw_and_get_code(fn: Any) -> tuple[Any, list[str]]:
    """`run_and_get_code`, with the backward of the result's sum."""

    def both() -> Any:
        result = fn()
        result.sum().backward()
        return result

    return run_and_get_code(both)


def is_big_gpu(index_or_device: Any = 0) -> bool:
    """False: there is no GPU."""
    return False


def ceildiv(number: int, denom: int) -> int:
    """The quotient, rounded up."""
    return -(number // -denom)


def clear_on_fresh_cache(obj: Any) -> Any:
    """The object as it is."""
    return obj


def clear_caches() -> None:
    """Forget what is compiled."""
    reset()


__all__ = [
    "_enable",
    "ceildiv",
    "clear_caches",
    "clear_on_fresh_cache",
    "fresh_cache",
    "fresh_inductor_cache",
    "is_big_gpu",
    "run_and_get_code",
    "run_and_get_kernels",
    "run_fw_bw_and_get_code",
]
