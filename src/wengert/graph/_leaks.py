"""Which living graphs are leaks: what grows over many backward calls, and the line to change.

A graph is accused only of what can be seen: that it, or the number of its kind in one container,
grew between so many backward calls. It may be on its way to a backward, as the losses of an
episode are: then it has to have grown more than twice as long as any graph that a backward has
released so far. What goes on from released operations can't be on its way to one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from wengert.graph._graphs import LiveGraph, LiveTensor, bytes_together
from wengert.graph._holders import Holder
from wengert.graph.formatting import format_bytes, format_count, shorten_path

# Of several names for what grows, the ones whose line says the most come first.
_TELLING = ("sum", "average", "state", "container", "name", "")


@dataclass(frozen=True, slots=True)
class Leak:
    """Graphs that outlive backward calls: who holds them, and what to do.

    Attributes:
        kind: ``"sum"``, ``"average"``, ``"state"`` (one graph that grows), ``"container"``
            (graphs whose number grows), ``"grad"`` (a gradient that has a graph and that is
            never reset) or ``"kept"`` (a graph that no backward passes).
        held: the name that holds them: ``losses[*]``.
        scope: where that name lives.
        where: ``file:line`` that stores them there, or else that made what is held.
        text: a sentence about it, with the remedy.
        line: the text of that line.
        made: the operation that made what is held, and its line.
        remedy: that line as it is without the graph, or what else to do.
        graphs: how many graphs there are.
        nodes: how many operations these have.
        nbytes: bytes that they keep, each storage once, leaves apart.
        calls: how many backward calls have begun since the first of their operations.
    """

    kind: str
    held: str
    scope: str
    where: str
    text: str
    line: str
    made: str
    remedy: str
    graphs: int
    nodes: int
    nbytes: int
    calls: int

    def __str__(self) -> str:
        lines = [
            f"{self.held}, {self.scope}, {_what(self)}",
            f"  stored by: {shorten_path(self.where)}  {self.line}",
            f"  made by:   {shorten_path(self.made)}",
            f"  remedy:    {self.remedy}",
        ]
        if self.line and self.made.endswith(f"{self.where}  {self.line})"):
            del lines[2]  # one line does both
        return "\n".join(lines)

    __repr__ = __str__  # an interactive session shows it as it prints


def leaks_of(alive: Iterable[LiveGraph], longest: int, calls: int) -> list[Leak]:
    """The leaks among graphs that are alive, those with the most bytes first.

    `longest` is that of a census.
    """
    patience = max(calls, 2 * longest)
    grown, others = [], []
    for graph in alive:
        if graph.grew >= (calls if graph.severed else patience):
            grown.append(graph)
        elif graph.nbytes and not _in_use(graph, patience):
            others.append(graph)
    leaks = [_leak(graphs, holder, grown=True) for graphs, holder in _alike(grown)]
    for graphs, holder in _alike(others):
        if len({graph.age for graph in graphs}) < patience:
            graphs = [g for g in graphs if g.age >= patience and g.passed is None]
        if graphs:
            leaks.append(_leak(graphs, holder, grown=False))
    return sorted(leaks, key=lambda leak: (leak.nbytes, leak.nodes), reverse=True)


def _in_use(graph: LiveGraph, patience: int) -> bool:
    """Whether backward calls still go through a graph that they keep."""
    recently = max(patience, graph.oldest / 2)
    return graph.passed is not None and graph.passed < recently


def _alike(graphs: list[LiveGraph]) -> Iterator[tuple[list[LiveGraph], Holder | None]]:
    """Graphs that the same line made and the same container holds, and how it holds the oldest.

    One that several names lead to belongs where most of its kind are: a batch that was drawn
    from a buffer to the buffer, and what the parts of a container hold to the container.
    """
    ways: dict[int, dict[tuple[str, str, str], Holder | None]] = {}
    for graph in graphs:
        top, own = graph.tops[0], ways.setdefault(id(graph), {})
        for holder in sorted(top.holders, key=lambda holder: _order(graph, holder)):
            own.setdefault((top.made, holder.places, holder.scopes), holder)
        if not own:
            own[top.made, "", ""] = None
    sizes = Counter(key for own in ways.values() for key in own)
    groups: dict[tuple[str, str, str], list[LiveGraph]] = {}
    for graph in graphs:
        own = ways[id(graph)]
        most = max(own, key=lambda key: (sizes[key] > 1 and _is_contained(own[key]), sizes[key]))
        groups.setdefault(most, []).append(graph)
    for key, members in groups.items():
        yield members, ways[id(max(members, key=lambda g: g.oldest))][key]


def _is_contained(holder: Holder | None) -> bool:
    return holder is not None and bool(holder.containers)


def _order(graph: LiveGraph, holder: Holder) -> tuple[bool, int]:
    return graph.grew == 1 and not holder.containers, _TELLING.index(holder.kind)


def _leak(graphs: list[LiveGraph], holder: Holder | None, grown: bool) -> Leak:
    graph = max(graphs, key=lambda g: g.oldest)
    top = graph.tops[0]
    kind = _kind(top, holder) if grown else "container" if len(graphs) > 1 else "kept"
    where, _, line = top.made.partition("(")[2].removesuffix(")").partition("  ")
    if holder is not None and holder.stored:
        where, line = holder.stored, holder.text
    held, scope = "(no name)", "which no name leads to"
    if holder is not None:
        held, scope = holder.path, holder.scope
        if len(graphs) > 1:
            held, scope = holder.places, holder.scopes
    leak = Leak(
        kind=kind,
        held=held,
        scope=scope,
        where=where,
        line=line,
        made=top.made,
        text="",
        remedy=_remedy(kind, held, top, holder),
        graphs=len(graphs),
        nodes=sum(g.nodes for g in graphs),
        nbytes=bytes_together(graphs),
        calls=graph.oldest,
    )
    more = _MORE.get(kind, "")
    if kind in ("sum", "average", "state") and graph.passed is not None:
        more += "; then retain_graph=True may go"
    at = f"{shorten_path(where)}  {line}".rstrip()
    text = f"{held}, {scope}, {_what(leak)}. Stored by {at}. Remedy: {leak.remedy}{more}"
    return replace(leak, text=text)


def _kind(top: LiveTensor, holder: Holder | None) -> str:
    """What makes a graph grow."""
    if holder is not None and holder.path.endswith(".grad"):
        return "grad"
    if holder is not None and holder.kind in ("sum", "average"):
        return holder.kind
    unknown = holder is None or not holder.kind
    return "sum" if unknown and math.prod(top.shape) == 1 else "state"


# What else is to be known of a remedy.
_MORE = {
    "state": " (where backward is to go through several steps: only at the first of them)",
    "container": " (or clear it once backward has used what is in it)",
}


def _remedy(kind: str, held: str, top: LiveTensor, holder: Holder | None) -> str:
    """The line as it is without the graph; in general, if the source does not say."""
    if kind == "grad":
        return (
            "reset it before each backward, optimizer.zero_grad(), or take the gradients with"
            " autograd.grad(..., create_graph=True) instead of backward(create_graph=True)"
        )
    if holder is not None and holder.remedy:
        return holder.remedy
    cut = "item()" if math.prod(top.shape) == 1 else "detach()"
    if kind == "container":
        return f"put value.{cut} there instead of value"
    if kind in ("sum", "average"):
        return f"add value.{cut} instead of value"
    return f"{held} = {held}.detach()" if "(" not in held else "value.detach() where it is kept"


def _what(leak: Leak) -> str:
    """What a leak has come to."""
    size = f"{leak.nodes:,} operations and {format_bytes(leak.nbytes)}"
    if leak.kind == "kept":
        return f"keeps a graph of {size} that no backward has passed for {leak.calls:,} calls"
    if leak.kind in ("sum", "average", "state", "grad") and leak.graphs > 1:
        return (
            f"keeps {leak.graphs:,} graphs that grew over {leak.calls:,} backward calls to {size}"
        )
    if leak.graphs > 1:
        return (
            f"keeps {leak.graphs:,} graphs, {size}; the oldest has outlived"
            f" {format_count(leak.calls, 'backward call')}"
        )
    return f"keeps a graph that grew over {leak.calls:,} backward calls to {size}"
