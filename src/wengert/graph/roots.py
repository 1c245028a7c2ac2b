"""What else than a graph may be drawn: layers above say what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.graph.description import GraphReport

# Each describes roots of its kind, such as compiled functions, or gives None.
describers: list[Callable[[Sequence[Any]], GraphReport | None]] = []
