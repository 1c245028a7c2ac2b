"""``torch.return_types``: the named tuples that operations with several results return."""

from typing import Any

from wengert.ops.results import kind_of


def __getattr__(name: str) -> Any:
    try:
        return kind_of(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
