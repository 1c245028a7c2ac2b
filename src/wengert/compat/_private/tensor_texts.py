"""``torch._tensor_str``: options of printing, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from wengert.core.tensor import Tensor
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


def __getattr__(name: str) -> Any:
    if name == "PRINT_OPTS":  # as they are now
        return SimpleNamespace(**get_printoptions())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor as `repr` shows them, without what stands around them."""
    text = repr(self.detach())
    body = text[len("tensor(") : text.rindex("]") + 1] if "]" in text else text[len("tensor(") : -1]
    return body.replace("\n" + " " * len("tensor("), "\n" + " " * indent)


__all__ = [
    "PRINT_OPTS",  # noqa: F822
    "_tensor_str",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]
