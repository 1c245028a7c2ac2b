"""What `torch.compile` raises about backends, and about what no graph can hold."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from wengert.core.storage import quoted_location

# Functions that hand to Python what is in a tensor, or make a tensor whose size depends on it.
_READERS = frozenset({
    "_elements", "elements", "numpy", "__array__", "data_ptr", "_contains", "equal", "allclose",
    "getitem", "deferred_repr",
})  # fmt: skip


class TorchDynamoException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """Any error of the compiler."""


class Unsupported(TorchDynamoException):
    """What the compiler cannot compile."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that fails: `inner_exception` says how."""

    def __init__(self, backend: Any, inner_exception: BaseException) -> None:
        self.backend_name = getattr(backend, "__name__", None) or str(backend)
        self.inner_exception = inner_exception
        kind = type(inner_exception).__name__
        super().__init__(f"backend={self.backend_name!r} raised:\n{kind}: {inner_exception}")


class InvalidBackend(TorchDynamoException):
    """A backend that nobody knows."""

    def __init__(self, name: Any) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available"
            " backends."
        )


def refuse_reading(names: Sequence[str], line: tuple[CodeType, int]) -> None:
    """Raise what `fullgraph=True` raises, if Python gets a value by these functions.

    An operation that no record holds, such as a factorization, may read its operands, and so may
    an assertion: the function does the same unless it raises.
    """
    if not _READERS.isdisjoint(names) and "_assert_async" not in names:
        raise Unsupported(
            "torch.compile(fullgraph=True): a value is read inside of the function, at"
            f" {quoted_location(*line)}: read it after the call, or leave fullgraph out"
        )
