"""What decides about compiled functions from outside of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Stance:
    """Whether they run as they are.

    Attributes:
        eager: what `wengert.compiler.set_stance` says.
        hooks: those of all modules, which `nn` has.
    """

    eager = False
    hooks: Mapping[Any, Any] = {}
