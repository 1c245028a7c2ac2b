"""From sampler indices to a batch, in any process."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

Fetch = Callable[[Any], Any]


class DatasetKind:
    """Whether a dataset gives samples by index, or one after the other."""

    Map = 0
    Iterable = 1


class DatasetReader(NamedTuple):
    """How a loader reads its dataset."""

    dataset: Any
    collate: Callable[[Any], Any]
    streams: bool
    batched: bool
    drop_last: bool

    def start(self) -> Fetch:
        """Return a function for one epoch, from an index or a list of them to a batch.

        For a stream only the number of indices matters; at its end it raises StopIteration.
        """
        return self._of_stream() if self.streams else self._of_samples()

    def _of_samples(self) -> Fetch:
        dataset, collate = self.dataset, self.collate
        if not self.batched:
            return lambda index: collate(dataset[index])
        many = getattr(dataset, "__getitems__", None)
        if many:
            return lambda indices: collate(many(indices))
        return lambda indices: collate([dataset[i] for i in indices])

    def _of_stream(self) -> Fetch:
        samples, collate, drop_last = iter(self.dataset), self.collate, self.drop_last
        if not self.batched:
            return lambda _: collate(next(samples))

        def fetch(indices: Any) -> Any:
            batch = list(islice(samples, len(indices)))
            if not batch or (drop_last and len(batch) < len(indices)):
                raise StopIteration
            return collate(batch)

        return fetch
