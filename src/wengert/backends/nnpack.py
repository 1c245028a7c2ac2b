"""``torch.backends.nnpack``: not used; its switch can be set and read back."""

from __future__ import annotations

from collections.abc import Iterator

from wengert.core.signals import call_despite_signals, contextmanager


class _Switch:
    enabled = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep the wish, and return what it was."""
    before = _Switch.enabled
    _Switch.enabled = bool(_enabled)
    return (before,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Set the switch inside a ``with`` block."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        call_despite_signals(set_flags, before)
