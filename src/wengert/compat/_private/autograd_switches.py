"""Names of ``torch.autograd`` about PyTorch's own profiler and threads."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from wengert.autograd.edges import GradientEdge, node_at
from wengert.autograd.saved.values import SavedTensor as SavedTensor
from wengert.core.size import Size
from wengert.core.tensor import Tensor


def kineto_available() -> bool:
    """False: the profiler of PyTorch's C++ core is not here."""
    return False


def _profiler_enabled() -> bool:
    """False: as `kineto_available`."""
    return False


def _calculate_shape(
    output: Tensor | GradientEdge, grad: Tensor, is_grads_batched: bool
) -> tuple[Any, Any]:
    """The shapes of an output and of its gradient, the latter without a batch dimension."""
    shape = node_at(output, []).shape if isinstance(output, GradientEdge) else output.shape
    return Size(shape), grad.shape[1:] if is_grads_batched else grad.shape


class set_multithreading_enabled:  # noqa: N801 (PyTorch's name)
    """Accepted, without effect: a backward runs on the thread that called it."""

    enabled = True

    def __init__(self, mode: bool) -> None:
        self.before = set_multithreading_enabled.enabled
        set_multithreading_enabled.enabled = bool(mode)

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_multithreading_enabled.enabled = self.before


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last given."""
    return set_multithreading_enabled.enabled


__all__ = [
    "SavedTensor",
    "_calculate_shape",
    "_profiler_enabled",
    "is_multithreading_enabled",
    "kineto_available",
    "set_multithreading_enabled",
]
