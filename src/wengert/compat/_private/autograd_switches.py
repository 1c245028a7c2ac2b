"""Names of ``torch.autograd`` about PyTorch's own profiler and threads."""

from __future__ import annotations

from types import TracebackType


def kineto_available() -> bool:
    """False: the profiler of PyTorch's C++ core is not here."""
    return False


def _profiler_enabled() -> bool:
    """False: as `kineto_available`."""
    return False


class set_multithreading_enabled:  # noqa: N801 (PyTorch's name)
    """Accepted, without effect: a backward runs on the thread that called it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


__all__ = [
    "_profiler_enabled",
    "kineto_available",
    "set_multithreading_enabled",
]
