"""``torch._jit_internal``, and private names of ``torch.jit``: marks without effect."""

from __future__ import annotations

from typing import Any


def _unchanged(function: Any) -> Any:
    """The function as it is."""
    return function


_overload = _overload_method = _copy_to_script_wrapper = _script_if_tracing = _unchanged


def _unwrap_optional(x: Any) -> Any:
    """The value; AssertionError if it is None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


class Error(RuntimeError):
    """What a compiled program raises; there is none."""


__all__ = [
    "Error",
    "_copy_to_script_wrapper",
    "_overload",
    "_overload_method",
    "_script_if_tracing",
    "_unwrap_optional",
]
