"""``torch.return_types``: the named tuples that operations with several results return."""

from typing import Any

from wengert.ops._results import _KINDS


def __getattr__(name: str) -> Any:
    if name in _KINDS:
        return _KINDS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
