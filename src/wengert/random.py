"""Seeds and states of the default generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.core.signals import call_despite_signals, contextmanager
from wengert.tensor import default_generator as default_generator
from wengert.tensor import get_rng_state as get_rng_state
from wengert.tensor import initial_seed as initial_seed
from wengert.tensor import manual_seed as manual_seed
from wengert.tensor import seed as seed
from wengert.tensor import set_rng_state as set_rng_state


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Inside, random numbers leave the stream outside where it was; unless not `enabled`.

    The devices are without meaning: there is one generator.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> with wengert.random.fork_rng():
    ...     _ = wengert.rand(5)
    >>> wengert.rand(2)
    tensor([0.4963, 0.7682])
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        call_despite_signals(set_rng_state, state)


__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip
