"""``torch.backends.mps``: there is none."""

from __future__ import annotations

from wengert.platform.absences import refusing


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False


is_macos_or_newer = refusing(
    "is_macos_or_newer",
    __name__,
    RuntimeError,
    "Cannot execute isOnMacOSorNewer() without MPS backend.",
)
