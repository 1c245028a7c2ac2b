"""Why a tensor has no graph or no gradient, and who keeps its graph alive."""

from __future__ import annotations

import dataclasses
import gc
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.autograd import engine, errors, naming
from wengert.autograd.diagnosis import (
    describe_cuts,
    describe_uses,
    escape_of,
    latest_escape,
    on_purpose,
)
from wengert.autograd.gc_queries import cuts_of, live_tensors_and_nodes, parameter_name
from wengert.core import messages
from wengert.core.cut_log import drops, escapes
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.storage import quoted_location
from wengert.core.tensor import Cut, Leaf, Node, Tensor, by_seq, memory_of, nodes_below
from wengert.graph._holders import Holder, Search
from wengert.graph.formatting import format_bytes
from wengert.graph.nodes import is_released, raw_edge, saved_bytes

_LATEST = 3  # backward calls that are named
_KEEPERS = 8


@dataclass(frozen=True, slots=True)
class Because:
    """An answer: one sentence, the lines of code that it speaks of, and what to do about it.

    Attributes:
        text: the reason.
        facts: what happened, such as ``"cut off by"``, and the line that did it.
        remedies: what to change, the most likely first.
    """

    text: str
    facts: tuple[tuple[str, str], ...] = ()
    remedies: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(messages.message_lines(self.text, self.facts, self.remedies))

    __repr__ = __str__  # an interactive session shows it as it prints


@dataclass(frozen=True, slots=True)
class Keeper:
    """A tensor, or a node without one, that keeps operations of a graph alive.

    Attributes:
        made: the operation that made it, its module and its line.
        shape: its shape.
        nodes: how many of the graph's operations it keeps.
        nbytes: the bytes that those keep, leaves apart.
        holders: the names through which the program holds it.
    """

    made: str
    shape: tuple[int, ...]
    nodes: int
    nbytes: int
    holders: tuple[Holder, ...]

    def __str__(self) -> str:
        who = "; ".join(map(str, self.holders)) or "something that has no name"
        many = f"{self.nodes:,} operation{'s' * (self.nodes != 1)}"
        return f"{format_bytes(self.nbytes)}, {many}: {self.made}, held by {who}"

    __repr__ = __str__  # an interactive session shows it as it prints


@dataclass(frozen=True, slots=True)
class Why:
    """What `why` found about a tensor. Printed, it is a text.

    Attributes:
        what: the tensor: its shape, and the line that made it where that is known.
        requires_grad: why it does not require grad; None if it does.
        grad: why its ``.grad`` is None; None if it is not.
        alive: what keeps its graph, the most bytes first; empty where nothing is kept.
    """

    what: str
    requires_grad: Because | None
    grad: Because | None
    alive: tuple[Keeper, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; the options are those of ``json.dumps``."""
        return json.dumps(self.to_dict(), **options)

    def __str__(self) -> str:
        sections = [self.what]
        if self.requires_grad is not None:
            sections.append(f"requires_grad is False: {self.requires_grad}")
        if self.grad is not None:
            sections.append(f".grad is None: {self.grad}")
        if self.alive:
            sections.append("its graph is alive:\n" + "\n".join(f"  {k}" for k in self.alive))
        return "\n".join(sections)

    __repr__ = __str__  # an interactive session shows it as it prints


def why(tensor: Tensor) -> Why:
    """Why a tensor does not require grad, why its `.grad` is None, what keeps its graph alive.

    Nothing has to be switched on before: tensors without a graph remember the line where their
    values left one, and who holds a graph is asked of the garbage collector. Raises TypeError
    for what is no Tensor.

    >>> import wengert
    >>> x = wengert.ones(3, requires_grad=True)
    >>> y = (x * 2).detach() + 1
    >>> print(wengert.graph.why(y).requires_grad.text)
    its values were cut off from the graph
    >>> print(wengert.graph.why(x).grad.text)
    no backward has begun since it was made
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"why(): argument 'tensor' must be a Tensor, not {type(tensor).__name__}")
    edge = tensor._edge
    missing = getattr(tensor, "_grad", None) is None
    return Why(
        what=_what(tensor),
        requires_grad=_no_graph(tensor) if edge is None else None,
        grad=_no_grad(tensor) if missing and edge is not None else None,
        alive=() if edge is None or type(edge) is Leaf else tuple(_keepers(edge)),
    )


def _what(tensor: Tensor) -> str:
    array, edge = memory_of(tensor), tensor._edge
    text = f"{of_numpy[array.dtype]} {list(tensor.shape)}".removeprefix("torch.")
    if edge is None:
        return f"a tensor without a graph, {text}"
    if type(edge) is Leaf:
        name = parameter_name(tensor)
        leaf = f"parameter {name}" if name else "a leaf"
        return f"{leaf}, {text} ({quoted_location(edge.code, edge.lasti)})"
    return f"{naming.describe_node(edge)}, {text}"


# Without a graph


def _no_graph(tensor: Tensor) -> Because:
    cut = getattr(tensor, "_cut", None)
    if cut is not None:
        text, facts, remedies = errors.cut_by(cut)
        return Because(text, tuple(facts), tuple(remedies))
    dtype = memory_of(tensor).dtype
    if dtype not in inexact:
        return Because(
            f"its dtype is {of_numpy[dtype]}, and only floating point and complex numbers have"
            " gradients",
            (),
            ("compute in a floating point dtype: x.float()",),
        )
    escape = escape_of(tensor)
    if escape is not None:
        text, facts, remedy = escape
        return Because(text, tuple(facts), (remedy,))
    return Because(
        "nothing that it was computed from requires grad",
        tuple(latest_escape()),
        (
            "a tensor that you made, to ask for its gradient: x.requires_grad_()",
            "a result: some input has to require grad; parameters do unless they are frozen,"
            " data do not",
        ),
    )


# Without a gradient


def _no_grad(tensor: Tensor) -> Because:
    edge = tensor._edge
    assert edge is not None
    if type(edge) is not Leaf:
        return _no_leaf(edge)
    begun = _begun()
    later = [call for seq, call in begun if seq > edge.seq]
    drop = _dropped(tensor)
    if drop is not None and not any(seq > drop.seq for seq, _ in begun):
        what, *line, _ = drop.cut
        return Because(
            "it was dropped, and no backward has begun since",
            (("dropped by", f"{what}  at {quoted_location(*line)}"),),
            ("read it between backward() and that line",),
        )
    if not later:
        return Because(
            "no backward has begun since it was made", (), ("call backward() on a loss",)
        )
    calls = list(dict.fromkeys(map(naming.describe_call, reversed(later))))[:_LATEST]
    facts = [("backward", call) for call in calls]
    if all(call.what != "backward()" for call in later):
        return Because(
            "grad() returns gradients, and leaves .grad as it is", tuple(facts), ("use its result",)
        )
    return Traces(gc.get_objects()).because(edge, facts)


def _no_leaf(edge: Node) -> Because:
    state = edge.state
    if state is not None and state.retain is not None:
        return Because(
            "no backward has passed it since retain_grad()", (), ("call backward() on a loss",)
        )
    return Because(
        "it is not a leaf: gradients pass it, and are not kept",
        (("made by", naming.describe_node(edge)),),
        (
            "call retain_grad() on it before backward()",
            "ask for the gradient itself: torch.autograd.grad(loss, [it])",
        ),
    )


def _begun() -> list[tuple[int, Any]]:
    """The latest walks: when they began, and their calls."""
    running = engine.running_walks
    with running.lock:
        return [(walk.when, walk.call) for walk in running.recent]


def _dropped(tensor: Tensor) -> Any:
    """The latest call that set this tensor's gradient to None."""
    for drop in reversed(drops):
        owner = drop.owner()
        if owner is tensor or any(p is tensor for p in _parameters(owner)):
            return drop
    return None


def _parameters(owner: Any) -> Iterable[Any]:
    """The tensors of an optimizer, or of a module."""
    groups = getattr(owner, "param_groups", None)
    if groups is not None:
        return [p for group in groups for p in group["params"]]
    return () if isinstance(owner, Tensor) or owner is None else owner.parameters()


class Traces:
    """Live uses of leaves: operations, and tensors that were cut off from their graph."""

    def __init__(self, objects: Sequence[Any]) -> None:
        tensors, nodes = live_tensors_and_nodes(objects)
        self._uses: dict[int, list[Node]] = {}
        for node in nodes:
            for edge in {id(e) for e in node.edges if type(e) is Leaf}:
                self._uses.setdefault(edge, []).append(node)
        self._cuts = cuts_of(tensors, [escape.cut for escape in escapes])
        # The leaves from which values were cut, by the references to what they were cut off from.
        self._below: dict[int, set[int]] = {}

    def lost(self, leaf: Leaf) -> list[Cut]:
        """Where values computed from a leaf were cut off, as far as the graph is still alive."""
        return [cut for cut in self._cuts if id(leaf) in self._leaves(cut)]

    def _leaves(self, cut: Cut) -> set[int]:
        node = None if cut.node is None else cut.node()
        if node is None:
            return set()
        key = id(cut.node)
        if key not in self._below:
            self._below[key] = {id(n) for n in nodes_below([node]) if type(n) is Leaf}
        return self._below[key]

    def evidence(self, leaf: Leaf, facts: Sequence[tuple[str, str]] = ()) -> Because | None:
        """Why backward calls did not reach a leaf, if something alive shows it; else None."""
        lost = self.lost(leaf)
        if lost:
            return Because(
                "its values were used without its graph",
                (*facts, *describe_cuts(lost)),
                ("let the tensor itself reach the loss in that line",),
            )
        uses = self._uses.get(id(leaf))
        if uses:
            return Because(
                "it is used in a graph that no backward has gone through",
                (*facts, *describe_uses(uses)),
                ("call backward() on a loss that is computed from what used it",),
            )
        return None

    def because(self, leaf: Leaf, facts: Sequence[tuple[str, str]]) -> Because:
        """Why backward calls did not reach a leaf: never used, cut off, or left out of the loss."""
        return self.evidence(leaf, facts) or Because(
            "no backward that has begun since it was made came to it: the losses do not depend"
            " on it",
            (*facts, *describe_cuts(filter(on_purpose, self._cuts))),
            (
                "use it in what the loss is computed from (a module that forward() does not call, a"
                " branch that is not taken)",
                "look for what cuts between it and the loss: detach(), .data, no_grad, .item()",
                "if it was copied (deepcopy, .to(dtype), Parameter(...)), look at the copy that the"
                " model uses",
            ),
        )


# Kept alive


def _keepers(root: Node) -> list[Keeper]:
    """The tensors from which the operations below a node are reached, and who holds them."""
    if is_released(root):
        return []
    graph = [n for n in nodes_below([root]) if type(n) is not Leaf and not is_released(n)]
    tensors, nodes = live_tensors_and_nodes(gc.get_objects())
    reaching = {id(node) for node in graph}
    for node in nodes:
        if any(id(edge) in reaching for edge in node.edges):
            reaching.add(id(node))
    ends = [(t, edge) for t in tensors if (edge := raw_edge(t)) and id(edge) in reaching]
    named = {id(edge) for _, edge in ends}
    used = {id(edge) for node in nodes for edge in node.edges}
    unnamed = reaching - named - used
    carriers = [*ends, *((node, node) for node in nodes if id(node) in unnamed)]
    carriers.sort(key=lambda carrier: by_seq(carrier[1]))
    search = Search([carrier for carrier, _ in carriers])
    keepers = [_keeper(carrier, node, graph, search) for carrier, node in carriers]
    return sorted(keepers, key=lambda k: (k.nbytes, k.nodes), reverse=True)[:_KEEPERS]


def _keeper(carrier: Any, node: Node, graph: list[Node], search: Search) -> Keeper:
    reachable = {id(n) for n in nodes_below([node])}
    operations = [n for n in graph if id(n) in reachable]
    return Keeper(
        made=naming.describe_node(node),
        shape=tuple(node.shape),
        nodes=len(operations),
        nbytes=saved_bytes(operations),
        holders=tuple(search.holders(carrier)),
    )
