"""A sampler that goes on within an epoch, on however many ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.data import Sampler
from wengert.horovod.common.basics import is_initialized, rank, size


class ElasticSampler(Sampler[int]):
    """The samples of this rank, without those that have been processed in the epoch.

    Args:
        dataset: what has a length.
        shuffle: in an order that the epoch determines.
        seed: of that order.

    >>> from wengert.horovod.torch.elastic import ElasticSampler
    >>> sampler = ElasticSampler(range(4), shuffle=False)
    >>> sampler.record_batch(0, 2)
    >>> sampler.reset()
    >>> list(sampler)
    [2, 3]
    """

    def __init__(self, dataset: Any, shuffle: bool = True, seed: int = 0) -> None:
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch = 0
        self.processed_num = 0
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        self.epoch, self.processed_num = epoch, 0
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Take note of a batch that all ranks have processed."""
        self.processed_num = min(
            self.processed_num + batch_size * self.num_replicas, len(self.dataset)
        )

    def state_dict(self) -> dict[str, Any]:
        """The epoch, and how much of it has been processed."""
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from such a state."""
        self.epoch, self.processed_num = state_dict["epoch"], state_dict["processed_num"]
        self.reset()

    def reset(self) -> None:
        """Share what is left of the epoch among the ranks."""
        self.num_replicas, self.rank = (size(), rank()) if is_initialized() else (1, 0)
        order = np.arange(len(self.dataset))
        if self.shuffle:
            np.random.default_rng((self.seed, self.epoch)).shuffle(order)
        self.remaining_indices = order[self.processed_num :].tolist()
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        left = self.remaining_indices
        padded = left * math.ceil(self.total_size / max(len(left), 1))
        return iter(padded[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples


__all__ = ["ElasticSampler"]
