"""Names of ``torch.cuda``: its types, and what says that nobody has asked for a device."""

from __future__ import annotations

from wengert.compat._private.absent_types import StreamContext

_initialized = False

__all__ = ["StreamContext", "_initialized"]
