"""``torch.fx.experimental.symbolic_shapes``: every size is an int, and every question answered."""

from __future__ import annotations

from typing import Any


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 (PyTorch's name)
    """What asking for an unknown size raises; every size is known."""


def _truth(a: Any) -> bool:
    """The truth value: it is known."""
    return bool(a)


guard_or_false = guard_or_true = statically_known_true = _truth


def statically_known_false(a: Any) -> bool:
    """Whether a value is false: it is known."""
    return not a


def free_symbols(value: Any) -> set[Any]:
    """No symbols."""
    return set()


free_unbacked_symbols = free_symbols


def is_symbolic(value: Any) -> bool:
    """False."""
    return False


def has_free_symbols(value: Any) -> bool:
    """False."""
    return False


__all__ = [
    "GuardOnDataDependentSymNode",
    "free_symbols",
    "free_unbacked_symbols",
    "guard_or_false",
    "guard_or_true",
    "has_free_symbols",
    "is_symbolic",
    "statically_known_false",
    "statically_known_true",
]
