"""``torch._dynamo`` and ``torch._inductor``, as scripts reach into them: settings are kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from wengert.compiler import disable as disable
from wengert.compiler import is_compiling as is_compiling
from wengert.compiler import reset as reset

config = SimpleNamespace()


def graph_break(msg: str = "") -> None:
    """Nothing to break."""


def mark_dynamic(t: Any, index: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Nothing to mark: shapes may always change."""
