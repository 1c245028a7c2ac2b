"""``torch.utils.data.datapipes``: the classes that programs derive their pipes from.

A pipe is a dataset, and a loader reads it as one. Of PyTorch's own pipes the shuffler is here; the
methods that chain them are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from random import Random
from typing import Any, TypeVar

from wengert.compat._private.fetchers import _DatasetKind
from wengert.core.dtypes import int64
from wengert.core.generators import Generator
from wengert.data.dataset import Dataset, IterableDataset
from wengert.tensor.creation import empty

T_co = TypeVar("T_co", covariant=True)
Graph = dict[int, tuple[Any, "Graph"]]


class IterDataPipe(IterableDataset[T_co]):
    """A stream that may read other pipes, which its attributes hold."""


class MapDataPipe(Dataset[T_co]):
    """Samples by index, which may come from other pipes that its attributes hold."""


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
        self._shuffle_enabled, self._seed = True, None

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Shuffle, or leave the order as it is."""
        self._shuffle_enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next epoch; without one it is drawn from the default generator."""
        self._seed: int | None = seed
        return self

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        if not self._shuffle_enabled:
            yield from self.datapipe
            return
        seed = _seed_from(None) if self._seed is None else self._seed
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


Shuffler = ShufflerIterDataPipe


def _seed_from(generator: Generator | None) -> int:
    return int(empty((), dtype=int64).random_(generator=generator).item())


class _IterDataPipeSerializationWrapper(IterDataPipe[Any]):
    """The stream of a pipe."""

    def __init__(self, datapipe: IterDataPipe[Any]) -> None:
        self._datapipe = datapipe

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe

    def __len__(self) -> int:
        return len(self._datapipe)  # type: ignore[arg-type]


class _MapDataPipeSerializationWrapper(MapDataPipe[Any]):
    """The samples of a pipe."""

    def __init__(self, datapipe: MapDataPipe[Any]) -> None:
        self._datapipe = datapipe

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]

    def __len__(self) -> int:
        return len(self._datapipe)  # type: ignore[arg-type]


def _pipes_in(value: Any) -> Iterator[Any]:
    """The pipes that an attribute holds, also in containers."""
    if isinstance(value, IterDataPipe | MapDataPipe):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _pipes_in(part)
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _pipes_in(part)


def traverse_dps(datapipe: Any) -> Graph:
    """A pipe and, below it, those that it reads, each by its id."""
    below: Graph = {}
    for value in vars(datapipe).values():
        for pipe in _pipes_in(value):
            below.update(traverse_dps(pipe))
    return {id(datapipe): (datapipe, below)}


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> Graph:
    """`traverse_dps`."""
    return traverse_dps(datapipe)


def get_all_graph_pipes(graph: Graph) -> list[Any]:
    """The pipes of a graph, each once."""
    found: dict[int, Any] = {}
    for key, (pipe, below) in graph.items():
        found.setdefault(key, pipe)
        found.update({id(p): p for p in get_all_graph_pipes(below) if id(p) not in found})
    return list(found.values())


def _with_method(datapipe: Any, name: str) -> list[Any]:
    """The pipes of a graph that have a method."""
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    return [pipe for pipe in pipes if callable(getattr(pipe, name, None))]


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None
) -> Any:
    """Tell all pipes that take parts which part is to be taken: `apply_sharding` of theirs."""
    for pipe in _with_method(datapipe, "apply_sharding"):
        pipe.apply_sharding(num_of_instances, instance_id)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Tell all pipes that shuffle whether they should: `set_shuffle` of theirs."""
    if shuffle is None:
        return datapipe
    shufflers = _with_method(datapipe, "set_shuffle")
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`: one is added"
            " at its end, with the default size of its buffer",
            UserWarning,
            stacklevel=2,
        )
        return ShufflerIterDataPipe(datapipe)
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Generator) -> Any:
    """Give all pipes that draw a seed of their own: `set_seed` of theirs."""
    for pipe in _with_method(datapipe, "set_seed"):
        pipe.set_seed(_seed_from(rng))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """`apply_random_seed`, by its older name."""
    return apply_random_seed(datapipe, rng)


__all__ = [
    "IterDataPipe",
    "MapDataPipe",
    "Shuffler",
    "ShufflerIterDataPipe",
    "_DatasetKind",
    "_IterDataPipeSerializationWrapper",
    "_MapDataPipeSerializationWrapper",
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
    "traverse",
    "traverse_dps",
]
