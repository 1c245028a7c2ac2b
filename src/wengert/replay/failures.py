"""What `torch.compile` raises about backends, and about what no graph can hold."""

from __future__ import annotations

from typing import Any


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
