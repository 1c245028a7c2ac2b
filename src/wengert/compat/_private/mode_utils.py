"""``torch.utils._mode_utils``: code that no dispatch mode sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.dispatch.modes import without_modes


@contextmanager
def no_dispatch() -> Iterator[None]:
    """A context without dispatch modes."""
    with without_modes():
        yield


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether the modes are one and the same."""
    return all(mode == modes[0] for mode in modes)


__all__ = ["all_same_mode", "no_dispatch"]
