"""All graphs that are alive: their bytes, their age, who holds them, and which look like leaks."""

from __future__ import annotations

import dataclasses
import gc
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wengert._core import Leaf, Node, Tensor
from wengert._storage import line_of, place
from wengert.autograd import _engine, _errors
from wengert.graph import _format
from wengert.graph._holders import Holder, Search
from wengert.graph._memory import held_by

# A graph that this many backward calls have begun without is looked at as a leak.
_OLD = 10
_TOPS = 3  # of one graph, the tensors whose holders are looked for
_SHOWN = 10
# What keeps one object for each iteration.
_GROWING = {"list", "tuple", "deque", "dict", "defaultdict", "OrderedDict", "set"}


@dataclass(frozen=True, slots=True)
class LiveTensor:
    """A tensor, or a node without one, that keeps a graph.

    Attributes:
        made: the operation that made it, its module and its line.
        shape: its shape.
        holders: the names through which the program holds it.
    """

    made: str
    shape: tuple[int, ...]
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """A graph that is alive; graphs that share an operation are one.

    Attributes:
        tops: what keeps it: results that nothing alive was computed from.
        nodes: how many operations it has.
        nbytes: bytes that it keeps, parameters apart.
        age: how many backward calls have begun since its latest operation ran.
        oldest: the same for its first operation.
        where: ``file:line`` of its first operation.
        text: that line.
    """

    tops: tuple[LiveTensor, ...]
    nodes: int
    nbytes: int
    age: int
    oldest: int
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Leak:
    """A graph that has outlived many backward calls: who holds it, and what to do.

    Attributes:
        where: ``file:line`` that made what is held.
        nbytes: bytes that all graphs held in this way keep.
        graphs: how many there are.
        text: a sentence about it, with the remedy.
    """

    where: str
    nbytes: int
    graphs: int
    text: str


@dataclass(frozen=True, slots=True)
class Census:
    """All live graphs, those with the most bytes first. Printed, it is a table.

    Attributes:
        graphs: the graphs that have operations which no backward has released.
        released: operations that are alive but released: they keep no memory.
    """

    graphs: tuple[LiveGraph, ...]
    released: int

    @property
    def nbytes(self) -> int:
        """Bytes of all graphs."""
        return sum(graph.nbytes for graph in self.graphs)

    def leaks(self, calls: int = _OLD) -> list[Leak]:
        """Graphs whose first operation is older than so many backward calls, by their holders.

        A loss that is summed up or kept in a list, or a hidden state carried from step to step,
        makes such a graph. A graph that is old because it is used again and again with
        ``retain_graph=True`` looks the same; whoever keeps it knows.
        """
        return _leaks([g for g in self.graphs if g.oldest >= calls])

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; the options are those of ``json.dumps``."""
        return json.dumps(self.to_dict(), **options)

    def __str__(self) -> str:
        count = len(self.graphs)
        head = (
            f"{count:,} live graph{'s' * (count != 1)} keep{'s' * (count == 1)}"
            f" {_format.size(self.nbytes)}"
        )
        rows = [_row(graph) for graph in self.graphs[:_SHOWN]]
        if not rows:
            return head
        names = ["bytes", "nodes", "age", "oldest", "made by", "held by"]
        table = _format.text_table(names, rows, {0, 1, 2, 3})
        more = f"\n... and {count - _SHOWN:,} more" if count > _SHOWN else ""
        return f"{head}\n{table}{more}"


def live() -> Census:
    """A census of the graphs that are alive now, on all threads.

    Who holds them is found through the garbage collector; nothing is recorded beforehand, and
    programs pay nothing for it until they ask.

    >>> import wengert
    >>> x = wengert.ones(1000, requires_grad=True)
    >>> kept = [(x + 2).exp()]
    >>> (graph,) = [g for g in wengert.graph.live().graphs if g.nbytes == 4000]
    >>> graph.nodes, graph.age
    (2, 0)
    """
    tensors: dict[int, list[Tensor]] = {}
    nodes: dict[int, Node] = {}
    for thing in gc.get_objects():
        kind = type(thing)  # not isinstance: some objects do things when asked for their class
        if issubclass(kind, Node):
            nodes[id(thing)] = thing
        elif issubclass(kind, Tensor):
            edge = getattr(thing, "_edge", None)
            if edge is not None:
                tensors.setdefault(id(edge), []).append(thing)
    operations = {key: node for key, node in nodes.items() if type(node) is not Leaf}
    alive = {key: node for key, node in operations.items() if not _released(node)}
    groups = [(group, _tops(group)) for group in _groups(alive)]
    kept = [thing for _, tops in groups for top in tops for thing in tensors.get(id(top), [top])]
    search = Search(kept)
    graphs = [_graph(group, tops, tensors, search) for group, tops in groups]
    graphs.sort(key=lambda graph: graph.nbytes, reverse=True)
    return Census(tuple(graphs), len(operations) - len(alive))


def _released(node: Node) -> bool:
    return node.state is not None and node.state.released is not None


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
    found: dict[int, list[Node]] = {}
    for key, node in nodes.items():
        found.setdefault(top(key), []).append(node)
    return [sorted(group, key=lambda n: n.seq) for group in found.values()]


def _tops(group: list[Node]) -> list[Node]:
    """The latest operations that no other was computed from."""
    used = {id(edge) for node in group for edge in node.edges}
    return [node for node in reversed(group) if id(node) not in used][:_TOPS]


def _graph(
    group: list[Node], tops: list[Node], tensors: dict[int, list[Tensor]], search: Search
) -> LiveGraph:
    first, latest = group[0], group[-1]
    leaves = {id(e): e for n in group for e in n.edges if type(e) is Leaf}
    where = f"{first.code.co_filename}:{line_of(first.code, first.lasti)}"
    return LiveGraph(
        tops=tuple(_top(node, tensors.get(id(node), ()), search) for node in tops),
        nodes=len(group),
        nbytes=held_by([*group, *leaves.values()]).graph,
        age=_age(latest),
        oldest=_age(first),
        where=where,
        text=place(first.code, first.lasti).removeprefix(where).strip(),
    )


def _age(node: Node) -> int:
    """How many backward calls have begun since a node was recorded."""
    return sum(began > node.seq for began in list(_engine.running.begun))


def _top(node: Node, tensors: Sequence[Tensor], search: Search) -> LiveTensor:
    things: Sequence[Tensor | Node] = tensors or [node]
    holders = [holder for thing in things for holder in search.holders(thing)]
    return LiveTensor(_errors.made(node), tuple(node.shape), tuple(holders))


def _row(graph: LiveGraph) -> list[str]:
    top = graph.tops[0] if graph.tops else None
    held = ", ".join(h.path for h in top.holders[:2]) if top and top.holders else "?"
    made = top.made if top else graph.where
    return [
        _format.size(graph.nbytes), f"{graph.nodes:,}", str(graph.age), str(graph.oldest),
        made, held,
    ]  # fmt: skip


def _leaks(graphs: list[LiveGraph]) -> list[Leak]:
    """One leak for all graphs that the same line made and that the same container holds."""
    found: dict[tuple[str, str], list[LiveGraph]] = {}
    for graph in graphs:
        top = graph.tops[0] if graph.tops else None
        holder = top.holders[0] if top and top.holders else None
        made = "" if top is None else top.made
        name = "" if holder is None else holder.path.rpartition("[")[0]
        found.setdefault((made, name), []).append(graph)
    leaks = [_leak(made, name, members) for (made, name), members in found.items()]
    return sorted(leaks, key=lambda leak: leak.nbytes, reverse=True)


def _leak(made: str, name: str, graphs: list[LiveGraph]) -> Leak:
    oldest = max(graph.oldest for graph in graphs)
    holders = [h for g in graphs for t in g.tops for h in t.holders]
    growing = [h for h in holders if _GROWING & set(h.containers)]
    nbytes = sum(graph.nbytes for graph in graphs)
    who = f"{holders[0]}" if holders else "something that has no name"
    many = f"{len(graphs):,} graphs" if len(graphs) > 1 else "a graph"
    text = f"{who} holds {many} of {_format.size(nbytes)}, {oldest:,} backward calls old. "
    if growing and len(graphs) > 1:
        text += f"Keep {name}'s numbers without their graph: loss.item(), or value.detach()"
    else:
        text += (
            "A sum of losses takes loss.item(), and a state carried from step to step"
            " state.detach(); a graph that is used again and again may stay"
        )
    where = made.partition("(")[2].partition("  ")[0] or graphs[0].where
    return Leak(where, nbytes, len(graphs), text)
