"""The classes of pipes."""

from __future__ import annotations

from typing import TypeVar

from wengert.compat._private.fetchers import _DatasetKind
from wengert.data.dataset import Dataset, IterableDataset

T_co = TypeVar("T_co", covariant=True)


class IterDataPipe(IterableDataset[T_co]):
    """A stream that may read other pipes, which its attributes hold."""


class MapDataPipe(Dataset[T_co]):
    """Samples by index, which may come from other pipes that its attributes hold."""


__all__ = ["IterDataPipe", "MapDataPipe", "_DatasetKind"]
