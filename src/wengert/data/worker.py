"""Information about the worker that reads a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class WorkerInfo:
    """The result of `get_worker_info`: worker id and count, seed, copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None  # the worker this process is, if any


def get_worker_info() -> WorkerInfo | None:
    """Return information about the current DataLoader worker; None elsewhere.

    A stream uses it to yield a different part in each worker.

    >>> from wengert.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _worker_info


__all__ = ["WorkerInfo", "get_worker_info"]
