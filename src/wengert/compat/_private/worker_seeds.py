"""Names of ``torch.utils.data._utils.worker`` for loaders that start workers of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

_WORD = 0xFFFFFFFF


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words that seed another library's generator in a worker, different in each."""
    entropy = [worker_id, base_seed & _WORD, (base_seed >> 32) & _WORD, 0]
    words: list[int] = np.random.SeedSequence(entropy).generate_state(4).tolist()
    return words


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """What a worker says whose stream is at its end."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """What starts another epoch in a worker that is kept."""

    seed: int | None = None


class ManagerWatchdog:
    """Tells a worker whether the process that started it is there."""

    def __init__(self) -> None:
        self._parent = os.getppid()

    def is_alive(self) -> bool:
        """Whether it is."""
        return os.getppid() == self._parent


__all__ = [
    "ManagerWatchdog",
    "_IterableDatasetStopIteration",
    "_ResumeIteration",
    "_generate_state",
]
