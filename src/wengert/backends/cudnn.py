"""``torch.backends.cudnn``: its switches can be set and read back."""

from __future__ import annotations

from collections.abc import Iterator

from wengert.core.signals import call_despite_signals, contextmanager

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit: int | None = 10


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches inside a ``with`` block."""
    values = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    switches = globals()
    before = {name: switches[name] for name in values}
    try:
        switches.update(values)
        yield
    finally:
        call_despite_signals(switches.update, before)
