"""``torch._subclasses``: tensors that stand for others while PyTorch traces; there are none."""

from __future__ import annotations

from typing import Any


class FakeTensor:
    """The type of no tensor: every tensor has values."""


class FakeTensorMode:
    """The type of no mode: every tensor has values."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError("torch._subclasses.FakeTensorMode: wengert has no fake tensors")


def is_fake(x: Any) -> bool:
    """False."""
    return False


__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]
