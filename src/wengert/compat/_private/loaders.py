"""Private names of ``torch.utils.data.dataloader``: annotations, and the types of its iterators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.data.dataloader import DatasetKind as _DatasetKind
from wengert.data.dataloader import LocalEpoch as _SingleProcessDataLoaderIter
from wengert.data.dataloader import WorkerEpoch as _MultiProcessingDataLoaderIter

_BaseDataLoaderIter = _SingleProcessDataLoaderIter | _MultiProcessingDataLoaderIter
_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]

__all__ = [
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_collate_fn_t",
    "_worker_init_fn_t",
]
