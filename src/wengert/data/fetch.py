"""From sampler indices to a batch, in any process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.data.collate import collate_tensor_fn, default_collate, default_collate_fn_map
from wengert.data.dataset import TensorDataset

Fetch = Callable[[Any], Any]


class DatasetKind:
    """Whether a dataset gives samples by index, or one after the other."""

    Map = 0
    Iterable = 1


def _rows(dataset: TensorDataset, indices: Any) -> Any:
    """`default_collate` of the samples at some indices: one gather for each tensor."""
    plain = all([type(t) is Tensor for t in dataset.tensors])
    usual = default_collate_fn_map.get(Tensor) is collate_tensor_fn  # scripts may have their own
    if plain and usual and indices and all([type(i) is int for i in indices]):
        rows = wrap(np.array(indices))
        return [t[rows].contiguous() for t in dataset.tensors]
    return default_collate([dataset[i] for i in indices])


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
        if type(dataset) is TensorDataset and collate is default_collate:
            return partial(_rows, dataset)
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
