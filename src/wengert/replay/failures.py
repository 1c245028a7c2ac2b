"""What `torch.compile` raises about backends, and about what no graph can hold."""

from __future__ import annotations

from enum import Enum
from types import FrameType
from typing import Any

import numpy as np

from wengert.core.storage import quoted_location
from wengert.core.tensor import caller, internal

# Functions by whose result Python decides, or that list numbers which are then part of the program.
_DECIDING = frozenset({
    "_bool", "__bool__", "is_nonzero", "equal", "allclose", "_complex", "__complex__",
})  # fmt: skip
_LISTING = frozenset({"tolist"})


class TorchDynamoException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """Any error of the compiler."""


class Unsupported(TorchDynamoException):
    """What the compiler cannot compile."""


class UserErrorType(Enum):
    """What is wrong with a program, for a `UserError`."""

    DYNAMIC_CONTROL_FLOW = 1
    ANTI_PATTERN = 2
    STANDARD_LIBRARY = 3
    CONSTRAINT_VIOLATION = 4
    DYNAMIC_DIM = 5
    INVALID_INPUT = 6
    INVALID_OUTPUT = 7
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = 8


class UserError(Unsupported):
    """What a program must not ask of the compiler."""

    def __init__(self, error_type: Any, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type, self.message = error_type, msg


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


def refuse_break(why: str) -> None:
    """Raise what `fullgraph=True` raises where a graph would end."""
    raise Unsupported(f"torch.compile(fullgraph=True): no graph can be made: {why}")


def names_of(frame: FrameType | None) -> tuple[str, ...]:
    """The functions of the package that are inside of the user's line, the innermost first."""
    names = list[str]()
    while frame is not None and frame.f_code.co_filename in internal:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return tuple(names)


def refuse_decision(frame: FrameType, dtype: np.dtype[Any]) -> None:
    """Raise what `fullgraph=True` raises where the user's line decides by elements of a dtype.

    What an operation does with them, such as a check of its own, is no decision of Python's, and
    neither is to read a number: that number may be any.
    """
    names = names_of(frame)
    if names and (names[-1] in _DECIDING or (names[-1] in _LISTING and dtype.kind not in "biu")):
        raise Unsupported(
            "torch.compile(fullgraph=True): Python decides by a value inside of the function, at"
            f" {quoted_location(*caller(frame))}: use torch.where, decide after the call, or leave"
            " fullgraph out"
        )
