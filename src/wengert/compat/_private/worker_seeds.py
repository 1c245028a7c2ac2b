"""Private names of ``torch.utils.data._utils.worker``."""

from __future__ import annotations

import numpy as np

_WORD = 0xFFFFFFFF


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words that seed another library's generator in a worker, different in each."""
    entropy = [worker_id, base_seed & _WORD, (base_seed >> 32) & _WORD, 0]
    words: list[int] = np.random.SeedSequence(entropy).generate_state(4).tolist()
    return words


__all__ = ["_generate_state"]
