"""What reads the dataset of a loader, as iterators of packages ask for it."""

from __future__ import annotations

from typing import Any

from wengert.data.fetch import DatasetKind, DatasetReader


class _SampleFetcher:
    """Reads samples by their indices."""

    def __init__(self, reader: DatasetReader) -> None:
        self.dataset = reader.dataset
        self.fetch = reader.start()


class _StreamFetcher:
    """Reads a stream; its iterator may be replaced by one that goes on elsewhere."""

    def __init__(self, reader: DatasetReader) -> None:
        self.dataset, self._reader = reader.dataset, reader
        self.dataset_iter, self.ended = iter(reader.dataset), False

    def fetch(self, index: Any) -> Any:
        """The next samples, as many as there are indices; StopIteration after the last ones."""
        if self.ended:
            raise StopIteration
        if not self._reader.batched:
            return self._reader.collate(next(self.dataset_iter))
        batch: list[Any] = []
        for _ in index:
            try:
                batch.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self._reader.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self._reader.collate(batch)


class _DatasetKind(DatasetKind):
    """The kinds of datasets, and what reads them."""

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> Any:
        """What reads a dataset, by ``fetch(index)``."""
        streams = kind == DatasetKind.Iterable
        reader = DatasetReader(dataset, collate_fn, streams, auto_collation, drop_last)
        return _StreamFetcher(reader) if streams else _SampleFetcher(reader)


__all__ = ["_DatasetKind"]
