"""``torch._dynamo.exc``: what programs catch around compiled functions, which raise none."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """Any error of the compiler."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler itself."""


class Unsupported(TorchDynamoException):
    """What the compiler cannot compile."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A function that an operator of functions cannot take."""


class UserError(Unsupported):
    """What a program must not ask of the compiler."""


class TorchRuntimeError(TorchDynamoException):
    """An operation that fails while the compiler traces it."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that fails."""


class InvalidBackend(TorchDynamoException):
    """A backend that nobody knows."""


class ResetRequired(TorchDynamoException):
    """Another backend than before."""


class RecompileError(TorchDynamoException):
    """A function that is compiled again where that is an error."""


class RecompileLimitExceeded(Unsupported):
    """A function that is compiled too often."""


__all__ = [
    "BackendCompilerFailed", "InternalTorchDynamoError", "InvalidBackend", "RecompileError",
    "RecompileLimitExceeded", "ResetRequired", "TorchDynamoException", "TorchRuntimeError",
    "UncapturedHigherOrderOpError", "Unsupported", "UserError",
]  # fmt: skip
