"""What decides about graphs for backends from outside of them, and what is counted of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

# PyTorch's, and its older names for some.
_DEFAULTS = {"disable": False, "recompile_limit": 8, "suppress_errors": False}
_OLDER = {"recompile_limit": "cache_size_limit"}
# Where users set them: the module that stands for `torch._dynamo.config`, once it is imported.
sources: list[Mapping[str, Any]] = []
# By PyTorch's names: ways through functions as "frames", graphs and their calls as "stats".
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def setting(name: str) -> Any:
    """A setting as it is now."""
    default = _DEFAULTS[name]
    values = [s[n] for s in sources for n in (name, _OLDER.get(name, name)) if n in s]
    return next((value for value in values if value != default), default)


__all__ = ["counters", "setting", "sources"]
