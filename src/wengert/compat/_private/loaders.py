"""Private names of ``torch.utils.data.dataloader``, from which loaders of packages are derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat._private.fetchers import _DatasetKind
from wengert.compat._private.pipes.settings import apply_sharding
from wengert.core.generators import default_generator
from wengert.data.dataloader import Endless as _InfiniteConstantSampler
from wengert.data.dataloader import LocalEpoch as _SingleProcessDataLoaderIter
from wengert.data.dataloader import WorkerEpoch as _MultiProcessingDataLoaderIter
from wengert.data.sampler import seed_from
from wengert.data.worker import get_worker_info

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]


class _Epochs(type):
    """Counts wengert's own iterators among the instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        own = _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter
        if cls is _BaseDataLoaderIter and isinstance(instance, own):
            return True
        return super().__instancecheck__(instance)


class _BaseDataLoaderIter(metaclass=_Epochs):
    """An epoch of a loader, to which a subclass adds `_next_data`."""

    def __init__(self, loader: Any) -> None:
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._collate_fn, self._index_sampler = loader.collate_fn, loader._index_sampler
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._pin_memory, self._pin_memory_device = False, None  # pinning has no effect
        self._world_size, self._rank, self._shared_seed = 1, 0, None
        self._pg = None
        self._begin(loader)
        self._base_seed = seed_from(loader.generator or default_generator)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        self._sampler_iter, self._num_yielded = iter(self._index_sampler), 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        batch = self._next_data()
        self._num_yielded += 1
        return batch

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError


def _sharding_worker_init_fn(
    worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int
) -> None:
    """What a worker of pipes calls at its start: it tells them their part."""
    info = get_worker_info()
    if info is None:
        raise RuntimeError("_sharding_worker_init_fn(): this process is no worker of a loader")
    workers, number = info.num_workers, worker_id
    apply_sharding(info.dataset, workers * world_size, number * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


__all__ = [
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "_InfiniteConstantSampler",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_collate_fn_t",
    "_sharding_worker_init_fn",
    "_worker_init_fn_t",
]
