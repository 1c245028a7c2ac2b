"""``torch.backends.mha``: its switch can be set and read back."""

from __future__ import annotations


class _Switch:
    fastpath = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was given."""
    return _Switch.fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Keep the wish: attention has one kernel here."""
    _Switch.fastpath = bool(value)
