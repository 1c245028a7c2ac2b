"""``torch._dynamo.exc``: what programs catch around compiled functions."""

from __future__ import annotations

from enum import Enum
from typing import Any

from wengert.replay.failures import (
    BackendCompilerFailed,
    InvalidBackend,
    TorchDynamoException,
    Unsupported,
)


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler itself."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A function that an operator of functions cannot take."""


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


class ObservedException(TorchDynamoException):
    """An exception that the compiler meets while it traces."""


class PackageError(TorchDynamoException):
    """Compiled code that does not fit the program."""


class SkipFrame(TorchDynamoException):
    """A function that is not compiled."""


class FailOnRecompileLimitHit(Exception):  # noqa: N818 (PyTorch's name)
    """A function that is compiled too often where that is an error."""


class TorchRuntimeError(TorchDynamoException):
    """An operation that fails while the compiler traces it."""


class ResetRequired(TorchDynamoException):
    """Another backend than before."""


class RecompileError(TorchDynamoException):
    """A function that is compiled again where that is an error."""


class RecompileLimitExceeded(Unsupported):
    """A function that is compiled too often."""


__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError",
    "InvalidBackend", "ObservedException", "PackageError", "RecompileError",
    "RecompileLimitExceeded", "ResetRequired", "SkipFrame", "TorchDynamoException",
    "TorchRuntimeError", "UncapturedHigherOrderOpError", "Unsupported", "UserError",
    "UserErrorType",
]  # fmt: skip
