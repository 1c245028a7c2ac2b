"""DataLoader: batches of a dataset, one epoch per iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from wengert._random import Generator, default_generator
from wengert.utils.data.collate import default_collate, default_convert
from wengert.utils.data.dataset import IterableDataset
from wengert.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    _seed_from,
)


class _Endless(Sampler[None]):
    """The sampler of a stream: it says nothing about which sample comes next."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """Batches of a dataset: which samples, in which order, collated how.

    Samples are read in this process; `num_workers` is accepted and changes nothing.

    Args:
        dataset: samples by index, or a stream.
        batch_size: samples a batch; None yields samples by themselves.
        shuffle: a new random order for every epoch.
        sampler: the order of the indices, in the place of `shuffle`.
        batch_sampler: lists of indices, in the place of the four options around it.
        num_workers: accepted; more than 0 warns that all is read in this process.
        collate_fn: a batch from a list of samples; `default_collate` unless given.
        pin_memory: accepted and without effect, as are `timeout`, `worker_init_fn` and all
            options after it except `generator`.
        drop_last: leave out a last batch that is not full.
        timeout: see `pin_memory`.
        worker_init_fn: see `pin_memory`.
        multiprocessing_context: see `pin_memory`.
        generator: where the random order comes from.
        prefetch_factor: see `pin_memory`.
        persistent_workers: see `pin_memory`.
        pin_memory_device: see `pin_memory`.
        in_order: see `pin_memory`.

    >>> from wengert.utils.data import DataLoader
    >>> list(DataLoader(range(5), batch_size=2))
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.timeout, self.worker_init_fn, self.generator = timeout, worker_init_fn, generator
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.pin_memory_device, self.in_order = pin_memory_device, in_order
        self.multiprocessing_context = multiprocessing_context
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle,"
                    " sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with"
                " drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._streams:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        # PyTorch draws a seed for its workers here, whether there are any or not: later draws
        # from the generator agree with it only if that is drawn as well.
        _seed_from(self.generator or default_generator)
        return self._stream() if self._streams else self._epoch()

    def _epoch(self) -> Iterator[Any]:
        dataset, collate = self.dataset, self.collate_fn
        if self.batch_sampler is None:
            for i in self.sampler:
                yield collate(dataset[i])
            return
        many = getattr(dataset, "__getitems__", None)
        for indices in self.batch_sampler:
            yield collate(many(indices) if many else [dataset[i] for i in indices])

    def _stream(self) -> Iterator[Any]:
        samples, collate = iter(self.dataset), self.collate_fn
        if self.batch_sampler is None:
            for sample in samples:
                yield collate(sample)
            return
        size = self.batch_size or 1
        while batch := list(islice(samples, size)):
            if len(batch) == size or not self.drop_last:
                yield collate(batch)

    def __len__(self) -> int:
        if self._streams:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            whole, rest = divmod(n, self.batch_size)
            return whole + (rest > 0 and not self.drop_last)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]


def _check_workers(workers: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable"
            f" multiprocessing, got {workers}."
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout}")
    if workers == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. let num_workers"
            " > 0 to enable multiprocessing, otherwise set prefetch_factor to None, got"
            f" {prefetch}."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, got {prefetch}")
    if persistent and workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if workers > 0:
        warnings.warn(
            f"num_workers={workers}: the DataLoader reads all samples in this process",
            UserWarning,
            stacklevel=3,
        )


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    if shuffle not in (None, False):
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified shuffle option, but got"
            f" shuffle={shuffle}"
        )
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got"
                f" {name}={value}"
            )


__all__ = ["DataLoader"]
