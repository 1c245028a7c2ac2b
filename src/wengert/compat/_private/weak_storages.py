"""``torch.multiprocessing.reductions``: storages that are known without being kept."""

from __future__ import annotations

import weakref

from wengert.tensor.storages import TypedStorage, UntypedStorage


class StorageWeakRef:
    """A reference to a storage that does not keep its memory alive."""

    __slots__ = ("_memory", "cdata")

    def __init__(self, storage: UntypedStorage | TypedStorage) -> None:
        memory = storage.untyped()._owner
        self._memory, self.cdata = weakref.ref(memory), id(memory)

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._memory() is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata

    def __hash__(self) -> int:
        return self.cdata


__all__ = ["StorageWeakRef"]
