"""A sampler for training in several processes."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

from wengert.core.generators import Generator
from wengert.data.sampler import Sampler

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """The part of a dataset's indices that belongs to one of several processes.

    All parts have the same length: indices at the end are left out with `drop_last`, or else
    indices from the start are repeated. The order depends on `seed` and on the epoch, which
    must be set with `set_epoch` before each one.

    >>> from wengert.utils.data import DistributedSampler
    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in range(2)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _ask_group("get_world_size")
        if rank is None:
            rank = _ask_group("get_rank")
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        full, remainder = divmod(len(dataset), num_replicas)
        self.num_samples = full + (remainder > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[T_co]:
        n = len(self.dataset)
        order: Any = range(n)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = generator.permutation(n).tolist()
        order = list(order) * math.ceil(self.total_size / max(n, 1))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; with `shuffle`, each has its own order."""
        self.epoch = epoch


def _ask_group(question: str) -> int:
    # If there is a process group, the module that created it is already loaded.
    group = sys.modules.get("wengert.distributed")
    if group is None or not group.is_initialized():
        raise ValueError(
            "Default process group has not been initialized, please make sure to call"
            " init_process_group, or give DistributedSampler both num_replicas and rank"
        )
    answer: int = getattr(group, question)()
    return answer


__all__ = ["DistributedSampler"]
