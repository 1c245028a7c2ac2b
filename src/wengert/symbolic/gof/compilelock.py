"""``theano.gof.compilelock``: a lock of compiled files, which nothing here needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def set_lock_status(use_lock: bool) -> None:
    """Accepted."""


def get_lock(lock_dir: Any = None, **options: Any) -> None:
    """Accepted."""


def release_lock() -> None:
    """Accepted."""


@contextmanager
def lock_ctx(lock_dir: Any = None, keep_lock: bool = False, **options: Any) -> Iterator[None]:
    """Accepted."""
    yield
