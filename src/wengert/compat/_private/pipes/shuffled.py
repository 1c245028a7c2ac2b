"""The pipe that shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from wengert.compat._private.pipes.classes import IterDataPipe
from wengert.core.dtypes import int64
from wengert.core.generators import Generator
from wengert.tensor.creation import empty


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """The samples of a pipe in another order: each is drawn from a buffer of the next ones."""

    def __init__(
        self, datapipe: IterDataPipe[Any], *, buffer_size: int = 10000, unbatch_level: int = 0
    ) -> None:
        if buffer_size <= 0:
            raise AssertionError(f"buffer_size should be larger than 0, but got {buffer_size}")
        if unbatch_level:
            raise NotImplementedError(f"unbatch_level has to be 0, but got {unbatch_level}")
        self.datapipe, self.buffer_size = datapipe, buffer_size
        self._shuffle_enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Shuffle, or leave the order as it is."""
        self._shuffle_enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next epoch; without one it is drawn from the default generator."""
        self._seed = seed
        return self

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        if not self._shuffle_enabled:
            yield from self.datapipe
            return
        seed = seed_from(None) if self._seed is None else self._seed
        self._seed, draw = None, Random(seed).randint
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            place = draw(0, len(buffer) - 1)
            yield buffer[place]
            buffer[place] = sample
        while buffer:
            yield buffer.pop(draw(0, len(buffer) - 1))


def seed_from(generator: Generator | None) -> int:
    """A seed that a generator draws; without one, the default generator."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


__all__ = ["ShufflerIterDataPipe"]
