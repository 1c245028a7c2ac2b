"""Who makes calls of kernels: a function that wants results now, or a program that notes them.

A method of several kernels that makes its calls by a `Caller` is written once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from wengert.kernels.derived import derived


class Caller(Protocol):
    """Makes calls of kernels, in order."""

    def temporary(self, shape: Sequence[int]) -> Any:
        """Floats of any values, for the calls that follow."""

    def derived(self, weight: Any, key: Hashable, size: int, fill: Callable[[Any], None]) -> Any:
        """So many floats that `fill` computes of a weight; see `kernels.derived`."""

    def call(self, kernel: Any, *arguments: Any, total: int, chunk: int) -> None:
        """Let a kernel go through `range(total)`, in chunks."""


class _AtOnce:
    """Calls that are made as they come."""

    def temporary(self, shape: Sequence[int]) -> Any:
        """An array of its own."""
        return np.empty(shape, np.float32)

    def derived(self, weight: Any, key: Hashable, size: int, fill: Callable[[Any], None]) -> Any:
        """What is kept, or is computed now."""

        def made() -> np.ndarray:
            floats = np.empty(size, np.float32)
            fill(floats)
            return floats

        return derived(weight, key, made)

    def call(self, kernel: Any, *arguments: Any, total: int, chunk: int) -> None:
        """Call it."""
        kernel(*arguments, total, chunk)


at_once: Caller = _AtOnce()
