"""``torch._dynamo.exc``: what programs catch around compiled functions."""

from __future__ import annotations

from wengert.replay.failures import (
    BackendCompilerFailed,
    InvalidBackend,
    TorchDynamoException,
    Unsupported,
    UserError,
    UserErrorType,
)


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler itself."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A function that an operator of functions cannot take."""


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
