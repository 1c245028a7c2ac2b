"""``torch.utils.weak``: dictionaries by identity that do not keep their keys alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

dict_type = dict  # an argument of the constructor hides it


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that equals another to the same object, whatever equality means to it."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, its = self(), other() if isinstance(other, WeakIdRef) else None
        return self is other if mine is None or its is None else mine is its


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by identity; an entry goes when its key does."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: dict_type[Any, Any] = {}
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        entries = weakref.WeakMethod(self._forget)

        def forget(ref: Any) -> None:
            method = entries()
            if method is not None:
                method(ref)

        self.data[self.ref_type(key, forget)] = value

    def _forget(self, ref: Any) -> None:
        self.data.pop(ref, None)

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        return self.ref_type(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        return (key for ref in list(self.data) if (key := ref()) is not None)

    def __len__(self) -> int:
        return len(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary

__all__ = ["WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]
