"""Random states and autocast around a recomputation, and PyTorch's functions for other devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wengert.amp.autocast_mode import (
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
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
    kind = "cpu"
    return kind, get_autocast_dtype(kind), is_autocast_enabled(kind), is_autocast_cache_enabled()


@contextmanager
def random_state(words: Tensor | None) -> Iterator[None]:
    """Run with an earlier state of the default generator, restoring the current one afterwards."""
    if words is None:
        yield
        return
    surrounding = default_generator.get_state()
    try:
        default_generator.set_state(words)
        yield
    finally:
        call_despite_signals(default_generator.set_state, surrounding)
