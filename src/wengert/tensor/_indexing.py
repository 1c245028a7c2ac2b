"""Indexing: `x[i]` and `x[i] = v`."""

from __future__ import annotations


def bind() -> None:
    """Give Tensor what this module is about."""
