"""DataLoader: batches of a dataset, one epoch per iteration."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from wengert.core.generators import Generator
from wengert.data._iterators import LocalEpoch as LocalEpoch
from wengert.data._iterators import WorkerEpoch as WorkerEpoch
from wengert.data.collate import default_collate, default_convert
from wengert.data.dataset import Dataset, IterableDataset
from wengert.data.fetch import DatasetKind as DatasetKind
from wengert.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

T_co = TypeVar("T_co", covariant=True)

# Options the sampler was built from; changing them would not change it.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class Endless(Sampler[None]):
    """The sampler of a stream, which does not choose the samples."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Batches of a dataset: which samples, in which order, collated how.

    Args:
        dataset: samples by index, or a stream.
        batch_size: samples per batch; None yields single samples.
        shuffle: a new random order for every epoch.
        sampler: the order of the indices, instead of `shuffle`.
        batch_sampler: lists of indices, instead of the four options around it.
        num_workers: processes that prefetch; with 0, this one reads.
        collate_fn: a batch from a list of samples; `default_collate` unless given.
        pin_memory: accepted and without effect, as is `pin_memory_device`.
        drop_last: drop an incomplete last batch.
        timeout: seconds to wait for a batch of a worker before RuntimeError; 0 waits forever.
        worker_init_fn: called in each worker with its number, after seeding.
        multiprocessing_context: how workers start, by name or as a context of
            `multiprocessing`; None starts them as that module does by default.
        generator: the source of the random order and of the workers' seeds.
        prefetch_factor: batches prefetched per worker; 2 unless given.
        persistent_workers: keep the workers, with their copies of the dataset, between epochs.
        pin_memory_device: see `pin_memory`.
        in_order: yield batches in the sampler's order, not as they arrive.

    >>> from wengert.utils.data import DataLoader
    >>> list(DataLoader(range(5), batch_size=2))
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    _iterator: WorkerEpoch | None = None  # of workers that persist
    # What len() said of a stream. Classes that stand in for a loader have it under this name.
    _IterableDataset_len_called: int | None = None

    def __init__(
        self,
        dataset: Dataset[T_co],
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
        self.dataset: Any = dataset  # of any class that has the methods
        self.num_workers, self.pin_memory = num_workers, pin_memory
        self.timeout, self.worker_init_fn, self.generator = timeout, worker_init_fn, generator
        if num_workers and prefetch_factor is None:
            prefetch_factor = 2
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.pin_memory_device, self.in_order = pin_memory_device, in_order
        self.multiprocessing_context = multiprocessing_context
        streams = isinstance(dataset, IterableDataset)
        self._dataset_kind = DatasetKind.Iterable if streams else DatasetKind.Map
        if streams:
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
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and hasattr(self, "_initialized"):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that starts the workers; None for the default of `multiprocessing`."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        self._context = None if value is None else _context(value, self.num_workers)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._dataset_kind == DatasetKind.Iterable:
            return Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def check_worker_number_rationality(self) -> None:
        """UserWarning for more workers than this process may use processors."""
        affinity = getattr(os, "sched_getaffinity", None)
        processors = len(affinity(0)) if affinity else os.cpu_count()
        if processors is not None and self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes, where"
                f" {processors} processors can be used: they would slow each other down",
                UserWarning,
                stacklevel=2,
            )

    def __iter__(self) -> Iterator[T_co]:
        if self.num_workers == 0:
            return LocalEpoch(self)
        if not self.persistent_workers:
            return WorkerEpoch(self)
        if self._iterator is None or self._iterator.stopped:
            self._iterator = WorkerEpoch(self)
        else:
            self._iterator.again(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind == DatasetKind.Iterable:
            n = self._IterableDataset_len_called = len(self.dataset)
            if self.batch_size is None:
                return n
            full, remainder = divmod(n, self.batch_size)
            return full + (remainder > 0 and not self.drop_last)
        return len(self._index_sampler)


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
    if prefetch is not None and prefetch <= 0:
        raise ValueError(
            "prefetch_factor option should be non-negative, and at least 1 for a batch to come,"
            f" got {prefetch}"
        )
    if persistent and workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _context(value: Any, workers: int) -> Any:
    if workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers >"
            f" 0), but got num_workers={workers}"
        )
    if isinstance(value, str):
        methods = multiprocessing.get_all_start_methods()
        if value not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in"
                f" {methods}, but got multiprocessing_context={value!r}"
            )
        return multiprocessing.get_context(value)
    if not isinstance(value, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string"
            f" specifying the start method, but got multiprocessing_context={value}"
        )
    return value


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
