"""``torch.backends.cusparselt``: there is none."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None


def get_max_alg_id() -> int | None:
    """None."""
    return None
