"""``torch._logging``: the compiler's logs, of which there are none."""

from __future__ import annotations

from typing import Any


def set_logs(**levels: Any) -> None:
    """Accepted: `wengert.compiler.explain` says what is compiled."""


__all__ = ["set_logs"]
