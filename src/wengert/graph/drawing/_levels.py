"""The members of one box in layers: who stands in which, in which order, and how edges run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wengert.graph import _optional

_PORTS = 8  # tensors that come in, or go out, by ways of their own
_ROUNDS = 30  # of moving vertices, at most

_Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class LayeredEdge:
    """An edge through the layers of a box.

    Attributes:
        path: numbers of vertices, each in the layer below the one before.
        tensors: the boxes whose results it stands for.
    """

    path: tuple[int, ...]
    tensors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interior:
    """The members of a box in layers.

    The vertices are numbered: first the members; then the ports in the upper border, then those
    in the lower one; then the bends of edges that pass a layer.

    Attributes:
        layers: the numbers of the vertices, from the top, each layer from the left.
        entries: for each port in the upper border, the boxes whose results come in there.
        exits: for each port in the lower border, the boxes whose results go out there.
        ways: the edges.
    """

    layers: tuple[tuple[int, ...], ...]
    entries: tuple[tuple[int, ...], ...]
    exits: tuple[tuple[int, ...], ...]
    ways: tuple[LayeredEdge, ...]


def interior(
    members: Sequence[int],
    inner: Mapping[tuple[int, int], Sequence[int]],
    entries: Mapping[int, Iterable[int]],
    exits: Mapping[int, int],
    orders: dict[object, _Rows],
) -> Interior:
    """Put members in layers.

    Args:
        members: boxes, none before one that it depends on.
        inner: for two members, whose results go from the first to the second.
        entries: for a box outside, the members that use its result.
        exits: for a box inside whose result is used outside, the member that it is in.
        orders: remembers what was worked out: the steps of a loop have equal layers.
    """
    number = {member: k for k, member in enumerate(members)}
    ins, outs = _ports(entries), _ports(exits)
    first_in, first_out = len(members), len(members) + len(ins)
    edges: dict[tuple[int, int], list[int]] = {}
    for k, tensors in enumerate(ins):
        for tensor in tensors:
            for member in sorted(entries[tensor]):
                edges.setdefault((first_in + k, number[member]), []).append(tensor)
    for (source, target), results in inner.items():
        edges[number[source], number[target]] = list(dict.fromkeys(results))
    for k, tensors in enumerate(outs):
        for tensor in tensors:
            edges.setdefault((number[exits[tensor]], first_out + k), []).append(tensor)
    layers = _layers(len(members), len(ins), len(outs), edges)
    paths = _bent(layers, edges)
    ways = tuple(LayeredEdge(path, tuple(edges[path[0], path[-1]])) for path in paths)
    key = tuple(layers), tuple(paths)
    if key not in orders:
        orders[key] = _ordered(layers, paths)
    return Interior(orders[key], ins, outs, ways)


def _ports(tensors: Mapping[int, object]) -> tuple[tuple[int, ...], ...]:
    if len(tensors) > _PORTS:
        return (tuple(tensors),)
    return tuple((tensor,) for tensor in tensors)


def _layers(members: int, ins: int, outs: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The layer of each vertex: as far up as it can be, but sources right above their users."""
    layers = [1 if ins else 0] * members + [0] * ins + [0] * outs
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for source, target in edges:
        above.setdefault(target, []).append(source)
        below.setdefault(source, []).append(target)
    for v in range(members):
        layers[v] = max([layers[v], *(layers[u] + 1 for u in above.get(v, ()))])
    for v in range(members):
        users = [layers[u] for u in below.get(v, ()) if u < members]
        if v not in above and users:
            layers[v] = max(layers[v], min(users) - 1)
    last = max(layers[:members], default=0) + 1
    layers[members + ins :] = [last] * outs
    return layers


def _bent(layers: list[int], edges: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The edges with a vertex in every layer that they pass; adds these to the layers."""
    paths = []
    for source, target in edges:
        path = [source]
        for layer in range(layers[source] + 1, layers[target]):
            path.append(len(layers))
            layers.append(layer)
        paths.append((*path, target))
    return paths


def _ordered(layers: Sequence[int], paths: Sequence[tuple[int, ...]]) -> _Rows:
    """The vertices of each layer from the left, so that few edges cross."""
    count = max(layers, default=-1) + 1
    rows: list[list[int]] = [[] for _ in range(count)]
    for v, layer in enumerate(layers):
        rows[layer].append(v)
    if max(map(len, rows), default=0) > 1:
        pairs = [pair for path in paths for pair in pairwise(path)]
        graph = _optional.igraph().Graph(n=len(layers), edges=pairs, directed=True)
        coordinates = graph.layout_sugiyama(layers=list(layers), maxiter=_ROUNDS).coords
        for row in rows:
            row.sort(key=lambda v: coordinates[v][0])
    return tuple(map(tuple, rows))


def incoming_columns(outer: Interior) -> dict[int, dict[int, int]]:
    """For each vertex and the tensors that come into it, how far to the left they come from."""
    columns = {u: column for row in outer.layers for column, u in enumerate(row)}
    origins: dict[int, dict[int, int]] = {v: {} for v in columns}
    for way in outer.ways:
        origins[way.path[-1]] |= dict.fromkeys(way.tensors, columns[way.path[-2]])
    return origins


def with_fewer_crossings(inside: Interior, columns: Mapping[int, int]) -> Interior:
    """The interior, or its mirror image where fewer lines that come in cross each other then."""
    if len(inside.entries) < 2:
        return inside
    first = min(inside.layers[0])
    order = [columns[inside.entries[v - first][0]] for v in inside.layers[0]]
    crossing = sum((b < a) - (a < b) for k, a in enumerate(order) for b in order[k:])
    if crossing <= 0:
        return inside
    return replace(inside, layers=tuple(row[::-1] for row in inside.layers))
