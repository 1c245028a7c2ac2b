"""What a dataset can ask about the worker that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class WorkerInfo:
    """What `get_worker_info` tells: which worker of how many, its seed, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _CurrentWorker:
    """Which worker this process is, if it is one."""

    info: WorkerInfo | None = None


current_worker = _CurrentWorker()


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader, which one it is; None elsewhere.

    A stream asks for it to yield a part of its own in each worker.

    >>> from wengert.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return current_worker.info


__all__ = ["WorkerInfo", "get_worker_info"]
