"""What all pipes of a graph are told: their part, their seed, whether to shuffle."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.compat._private.pipes.graphs import Graph, traverse_dps
from wengert.compat._private.pipes.shuffled import ShufflerIterDataPipe, seed_from
from wengert.core.generators import Generator


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
        pipe.set_seed(seed_from(rng))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """`apply_random_seed`, by its older name."""
    return apply_random_seed(datapipe, rng)


__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]
