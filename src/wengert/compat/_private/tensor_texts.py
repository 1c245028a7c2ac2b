"""``torch._tensor_str``: options of printing, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.tensor import get_printoptions, set_printoptions


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set how tensors print, as `set_printoptions`, within a block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


__all__ = ["get_printoptions", "printoptions", "set_printoptions"]
