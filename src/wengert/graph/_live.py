"""All live graphs: their bytes, age and holders, and which look like leaks."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from wengert.autograd import engine, naming
from wengert.autograd.gc_queries import live_tensors_and_nodes
from wengert.core.storage import address_of, location_of, quoted_location, source_text
from wengert.core.tensor import Node, Tensor, by_seq
from wengert.graph import _tables
from wengert.graph._graphs import HeldBy, LiveGraph, LiveTensor
from wengert.graph._holders import Holder, Search
from wengert.graph._leaks import Leak, leaks_of
from wengert.graph._module_paths import ModulePaths
from wengert.graph._stores import Stores
from wengert.graph._tables import Row, Table
from wengert.graph.formatting import format_bytes, shorten_path
from wengert.graph.memory import bytes_in, without_collecting
from wengert.graph.nodes import is_released, raw_edge, saved_bytes, storages_of

# A graph that this many backward calls have begun without is looked at as a leak.
_OLD = 10
_TOPS = 3  # of one graph, the tensors whose holders are looked for
_GROWN = 3  # backward calls between which a graph has to grow until somebody carries it on
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Census:
    """All live graphs, those with the most bytes first. Printed, it is a table.

    Attributes:
        graphs: the graphs that have operations which no backward has released.
        holders: the names that hold them, those with the most bytes first.
        released: operations that are alive but released: they keep no memory.
        nbytes: bytes that all graphs keep; each storage once, leaves apart.
        longest: of the graphs that backward calls have released, over how many backward calls
            the longest had grown: what this program is used to.
    """

    graphs: tuple[LiveGraph, ...]
    holders: tuple[HeldBy, ...]
    released: int
    nbytes: int
    longest: int

    def leaks(self, calls: int = _OLD) -> list[Leak]:
        """Graphs that outlive so many backward calls because something accumulates them.

        A loss that is summed up, averaged or kept in a container, or a state that is carried
        from step to step. What is used is none: a graph that backward calls pass again and
        again and that does not grow; nor what grows no longer than twice as long as graphs that
        backward calls did release in the end, as the losses of an episode do.
        """
        return leaks_of(self.graphs, self.longest, calls)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; the options are those of ``json.dumps``."""
        return json.dumps(self.to_dict(), **options)

    def table(self, by: str = "graph", rows: int = _SHOWN) -> str:
        """A table by ``"graph"`` or ``"holder"``, of at most so many rows.

        Raises ValueError for another `by`.
        """
        return _table(self, by, rows).text()

    def show(self, by: str = "graph", rows: int = _SHOWN) -> None:
        """Print the census and a table: in a terminal with rich, if it is installed.

        Raises ValueError like `table`.
        """
        _tables.print_report(_summary(self), _table(self, by, rows))

    def __str__(self) -> str:
        return f"{_summary(self)}\n{self.table()}" if self.graphs else _summary(self)

    __repr__ = __str__  # an interactive session shows it as it prints

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        yield from _tables.in_terminal(_summary(self), _table(self, "graph", _SHOWN))

    def _repr_html_(self) -> str:
        tables = {by: _table(self, by, _SHOWN) for by in ("graph", "holder")}
        return _tables.notebook(_summary(self), tables, "graph")


def _summary(census: Census) -> str:
    count = len(census.graphs)
    return (
        f"{count:,} live graph{'s' * (count != 1)} keep{'s' * (count == 1)}"
        f" {format_bytes(census.nbytes)}"
    )


def _table(census: Census, by: str, most: int) -> Table:
    total = max(census.nbytes, 1)
    if by == "graph":
        graphs = census.graphs
        rows = [Row(_row(g), g.nbytes / total) for g in graphs[:most]]
        names = ["bytes", "nodes", "age", "oldest", "made by", "held by"]
        return Table(names, rows, len(graphs), {0, 1, 2, 3}, 0)
    if by != "holder":
        raise ValueError(f"by must be 'graph' or 'holder', and is {by!r}")
    holders = census.holders
    rows = [Row(_holder_row(h), h.nbytes / total) for h in holders[:most]]
    names = ["held by", "graphs", "nodes", "bytes", "oldest", "stored by"]
    return Table(names, rows, len(holders), {1, 2, 3, 4}, 3)


def _row(graph: LiveGraph) -> list[str]:
    top = graph.tops[0]
    return [
        format_bytes(graph.nbytes), f"{graph.nodes:,}", f"{graph.age:,}", f"{graph.oldest:,}",
        shorten_path(top.made), ", ".join(holder.path for holder in top.holders[:2]),
    ]  # fmt: skip


def _holder_row(held: HeldBy) -> list[str]:
    return [
        f"{held.name}, {held.scope}", f"{held.graphs:,}", f"{held.nodes:,}",
        format_bytes(held.nbytes), f"{held.oldest:,}",
        f"{shorten_path(held.stored)}  {held.text}".strip(),
    ]  # fmt: skip


def live() -> Census:
    """Take a census of the live graphs, on all threads.

    Who holds them is found through the garbage collector, which does not look at what
    ``gc.freeze()`` has set aside; nothing is recorded beforehand, and programs pay nothing for it
    until they ask. No code of the program runs meanwhile on this
    thread, and nothing is kept. A backward call with ``create_graph=True``, for some tensors of
    a graph that it keeps, or for none that is a leaf, is a part of some larger computation: ages
    do not count it.

    >>> import wengert
    >>> x = wengert.ones(1000, requires_grad=True)
    >>> kept = [(x + 2).exp()]
    >>> (graph,) = [g for g in wengert.graph.live().graphs if g.nbytes == 4000]
    >>> graph.nodes, graph.age
    (2, 0)
    """
    with without_collecting():
        return _Counting(gc.get_objects()).census()


class _Counting:
    """One census while it is taken."""

    def __init__(self, objects: list[Any]) -> None:
        self.tensors: list[Tensor] = []
        self.of_node: dict[int, list[int]] = defaultdict(list)  # positions in `tensors`
        tensors, nodes = live_tensors_and_nodes(objects)
        for tensor in tensors:
            edge = raw_edge(tensor)
            if edge is not None:
                self.of_node[id(edge)].append(len(self.tensors))
                self.tensors.append(tensor)
        operations = {id(node): node for node in nodes}
        self.alive = {key: node for key, node in operations.items() if not is_released(node)}
        self.released = len(operations) - len(self.alive)
        begun = list(engine.running_walks.recent)
        self.steps = [walk.when for walk in begun if walk.step]
        self.passes = {walk.oldest: walk.when for walk in begun if not walk.releases}
        self.longest = max(
            (self.step(w.when - 1) - self.step(w.oldest) for w in begun if w.releases and w.oldest),
            default=0,
        )
        self.groups = _groups(self.alive)
        self.tops = [self.tops_of(group) for group in self.groups]
        carriers = [carrier for tops in self.tops for top in tops for carrier in self.carriers(top)]
        own = [self.tensors, self.alive, operations, tensors, nodes, *self.groups, *self.tops]
        self.search = Search(carriers, objects, own)
        self.stores = Stores()
        self.sites = ModulePaths()

    def census(self) -> Census:
        """What was found, as plain data."""
        names: dict[tuple[str, str], list[_Held]] = defaultdict(list)
        graphs = []
        for group, tops in zip(self.groups, self.tops, strict=True):
            described = [self.top(top) for top in tops]
            grew = len({self.step(node.seq) for node in group})
            if grew >= _GROWN:  # first what goes on from itself
                described.sort(key=lambda one: not _goes_on(one[0]))
            graph = self.graph(group, tuple([top for top, _ in described]), grew)
            graphs.append(graph)
            for top, nodes in described:
                for holder in {(h.places, h.scope): h for h in top.holders}.values():
                    names[holder.places, holder.scope].append(_Held(graph, nodes, holder))
        holders = [_held_by(*name, held) for name, held in names.items()]
        holders.sort(key=lambda holder: holder.nbytes, reverse=True)
        graphs.sort(key=lambda graph: graph.nbytes, reverse=True)
        nbytes = saved_bytes([node for group in self.groups for node in group])
        return Census(tuple(graphs), tuple(holders), self.released, nbytes, self.longest)

    def step(self, seq: int) -> int:
        """The number of known backward calls begun when an object was created."""
        return bisect_right(self.steps, seq)

    def age(self, seq: int) -> int:
        """The number of backward calls begun since an object was created."""
        return len(self.steps) - self.step(seq)

    def carriers(self, node: Node) -> list[Any]:
        """The tensors that a node made, as far as they are alive; else the node."""
        return [self.tensors[k] for k in self.of_node.get(id(node), ())] or [node]

    def tops_of(self, group: list[Node]) -> list[Node]:
        """What carries a graph on, and the latest operations that no other was computed from."""
        used = {id(edge) for node in group for edge in node.edges}
        tops = [node for node in reversed(group) if id(node) not in used][:_TOPS]
        carried = self.carried(group)
        return [*carried, *[node for node in tops if node not in carried]][:_TOPS]

    def carried(self, group: list[Node]) -> list[Node]:
        """The nodes of living tensors through which a graph may grow from call to call."""
        spread: dict[tuple[Any, ...], set[int]] = defaultdict(set)  # when each line ran
        for node in group:
            spread[_kind(node)].add(self.step(node.seq))
        most = max(map(len, spread.values()))
        if most < _GROWN:
            return []
        living = [node for node in reversed(group) if id(node) in self.of_node]
        return [node for node in living if 2 * len(spread[_kind(node)]) > most][:_TOPS]

    def graph(self, group: list[Node], tops: tuple[LiveTensor, ...], grew: int) -> LiveGraph:
        """A graph as plain data."""
        first, latest = group[0], group[-1]
        storages = storages_of(group).values()
        passes = [self.passes[node.seq] for node in group if node.seq in self.passes]
        return LiveGraph(
            tops=tops,
            nodes=len(group),
            nbytes=bytes_in(storages),
            age=self.age(latest.seq),
            oldest=self.age(first.seq),
            where=location_of(first.code, first.lasti),
            text=source_text(first.code, first.lasti),
            grew=grew,
            passed=min(map(self.age, passes), default=None),
            severed=any(_severed(node) for node in group),
            storages=tuple([(address_of(base), base.nbytes) for base in storages]),
        )

    def below(self, top: Node) -> list[Node]:
        """The living operations that a node was computed from, and itself."""
        reached, waiting = {id(top): top}, [top]
        while waiting:
            for edge in waiting.pop().edges:
                if id(edge) in self.alive and id(edge) not in reached:
                    reached[id(edge)] = self.alive[id(edge)]
                    waiting.append(self.alive[id(edge)])
        return list(reached.values())

    def top(self, node: Node) -> tuple[LiveTensor, list[Node]]:
        """What keeps a graph, who holds it, and what it keeps."""
        below = self.below(node)
        scalar = math.prod(node.shape) == 1
        holders = []
        for carrier in self.carriers(node):
            for way in self.search.ways(carrier):
                store = self.stores.store_of(way, node, scalar)
                holders.append(way.holder(store))
        tensor = LiveTensor(
            made=self.describe_origin(node),
            shape=tuple(node.shape),
            holders=tuple(holders),
            nodes=len(below),
            nbytes=saved_bytes(below),
        )
        return tensor, below

    def describe_origin(self, node: Node) -> str:
        """The operation of a node, its module if it has one, and its line."""
        path = self.sites.path(node.site)
        inside = f" in {path}" if path else ""
        return f"{naming.op_name(node)}{inside} ({quoted_location(node.code, node.lasti)})"


class _Held(NamedTuple):
    """What a name holds of one graph."""

    graph: LiveGraph
    nodes: list[Node]
    holder: Holder


def _held_by(name: str, scope: str, held: list[_Held]) -> HeldBy:
    nodes = {id(node): node for one in held for node in one.nodes}
    latest = min(held, key=lambda one: one.graph.age).holder
    return HeldBy(
        name=name,
        scope=scope,
        graphs=len({id(one.graph) for one in held}),
        nodes=len(nodes),
        nbytes=saved_bytes(list(nodes.values())),
        oldest=max(one.graph.oldest for one in held),
        stored=latest.stored,
        text=latest.text,
    )


def _goes_on(top: LiveTensor) -> bool:
    return any(holder.kind in ("sum", "average", "state") for holder in top.holders)


def _kind(node: Node) -> tuple[Any, ...]:
    """Where and of what kind a node is: what a line makes each time it runs."""
    return id(node.code), node.lasti, type(node), node.index


def _severed(node: Node) -> bool:
    """Whether an operation below is released, and a backward may not pass it."""
    lenient = engine.compatibility.lenient
    return any(
        edge is not None and is_released(edge) and not (lenient and not edge.saved)
        for edge in node.edges
    )


def _groups(nodes: dict[int, Node]) -> list[list[Node]]:
    """Nodes that hang together, by joining the sets of a node and of its inputs."""
    parent = {key: key for key in nodes}

    def top(key: int) -> int:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for key, node in nodes.items():
        for edge in node.edges:
            if id(edge) in parent:
                parent[top(key)] = top(id(edge))
    members: dict[int, list[Node]] = {}
    for key, node in nodes.items():
        members.setdefault(top(key), []).append(node)
    return [sorted(group, key=by_seq) for group in members.values()]
