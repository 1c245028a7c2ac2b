"""Whether the constructors of compressed tensors check that indices are sorted and distinct."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class _Checking:
    enabled = False


class check_sparse_tensor_invariants:  # noqa: N801 (PyTorch's name)
    """Turn the checks that take more than a look at the indices on: for a block, or for good.

    That indices are within bounds is checked always.

    >>> import wengert
    >>> with wengert.sparse.check_sparse_tensor_invariants():
    ...     wengert.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2))
    Traceback (most recent call last):
    ...
    RuntimeError: `col_indices[..., crow_indices[..., i - 1]:crow_indices[..., i]] for all i = 1,\
 ..., nrows are sorted and distinct along the last dimension values` is not satisfied.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._outside: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether the checks are on."""
        return _Checking.enabled

    @staticmethod
    def enable() -> None:
        """Turn the checks on."""
        _Checking.enabled = True

    @staticmethod
    def disable() -> None:
        """Turn the checks off."""
        _Checking.enabled = False

    def __enter__(self) -> None:
        if self._outside is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context"
                " manager instance for context nesting."
            )
        self._outside, _Checking.enabled = _Checking.enabled, self.state

    def __exit__(self, *exception: Any) -> None:
        _Checking.enabled, self._outside = bool(self._outside), None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
