"""``theano.misc.frozendict``: dictionaries that can be keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class frozendict(Mapping[Any, Any]):  # noqa: N801
    """A dictionary that cannot be changed, and hashes by its content.

    >>> from wengert.symbolic.misc.frozendict import frozendict
    >>> frozendict(a=1) == {"a": 1}, {frozendict(a=1): "found"}[frozendict(a=1)]
    (True, 'found')
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dict: dict[Any, Any] = dict(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._dict[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def copy(self, **add_or_replace: Any) -> frozendict:
        """One with some entries more, or others."""
        return frozendict(self, **add_or_replace)

    def __hash__(self) -> int:
        return hash(frozenset(self._dict.items()))

    def __repr__(self) -> str:
        return f"<frozendict {self._dict!r}>"
