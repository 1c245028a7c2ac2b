"""Random states and autocast around a recomputation, and PyTorch's functions for other devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from wengert.amp.autocast_mode import autocast
from wengert.amp.state import lower_dtype
from wengert.amp.state import state as amp
from wengert.core.dtypes import dtype
from wengert.core.generators import default_generator
from wengert.core.signals import call_despite_signals, contextmanager
from wengert.core.tensor import Tensor
from wengert.cuda import set_rng_state


class DefaultDeviceType:
    """The device whose random state is kept beside the CPU's. Here there is only the CPU.

    >>> from wengert.utils.checkpoint import DefaultDeviceType
    >>> DefaultDeviceType.get_device_type()
    'cpu'
    """

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Name another default; no tensor is on it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The default device type."""
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Numbers and random states of the devices, other than the CPU, of tensors: none.

    >>> import wengert
    >>> from wengert.utils.checkpoint import get_device_states
    >>> get_device_states(wengert.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of devices other than the CPU; AssertionError if one is named.

    >>> from wengert.utils.checkpoint import set_device_states
    >>> set_device_states([], [])
    """
    for _, state in zip(devices, states, strict=False):
        set_rng_state(state)


def autocast_settings() -> tuple[str, dtype, bool, bool]:
    """The arguments of an `autocast` that does what the innermost one does."""
    return "cpu", lower_dtype("cpu"), amp.enabled.get("cpu", False), amp.cache


def as_before(settings: tuple[str, dtype, bool, bool]) -> AbstractContextManager[Any]:
    """A context in which autocast does what it did."""
    return nullcontext() if settings == autocast_settings() else autocast(*settings)


@contextmanager
def random_state(snapshot: Any) -> Iterator[None]:
    """Run with an earlier state of the default generator, restoring the current one afterwards."""
    if snapshot is None:
        yield
        return
    surrounding = default_generator.snapshot()
    try:
        default_generator.go_back(snapshot)
        yield
    finally:
        call_despite_signals(default_generator.go_back, surrounding)
