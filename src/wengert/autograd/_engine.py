"""The backward walk: plan, check, walk, release.

A walk plans first: it collects the nodes that it will pass, refuses what cannot succeed
(released nodes, saved values written since), and changes nothing until that is known.
Then it goes from the newest node to the oldest. Gradients of leaves are kept aside in
`final`; the caller commits them when the walk is through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from sys import getrefcount
from typing import Any

import numpy as np

from wengert import _storage
from wengert._core import (
    Call,
    Leaf,
    Node,
    State,
    Tensor,
    caller,
    getframe,
    memory_of,
    tensors,
    wrap,
)
from wengert.autograd import _errors
from wengert.autograd._mode import enable_grad
from wengert.ops.subscript import Slices, alive

by_seq = attrgetter("seq")
Lift = Callable[[Any, "Node | None"], Any]

# Called with each walk before it starts and after it ends: `wengert run` reports from here.
observers: list[Callable[[Walk, str], None]] = []


class Compatibility:
    """Under the torch alias, released nodes that saved nothing let a second backward pass."""

    lenient = False


compatibility = Compatibility()


class Walk:
    """One backward call: its line, its plan, and what it came to."""

    def __init__(self, what: str, retain: bool | str, create_graph: bool) -> None:
        self.retain, self.create_graph = retain, create_graph
        self.call = Call(what, *caller(getframe(1)))
        self.mark = State(self.call, shared=True)  # of the nodes that it releases
        self.roots: tuple[Node, ...] = ()
        self.order: list[Node] = []  # oldest first; the walk pops from its end
        self.pending: dict[Any, Any] = {}  # gradients on their way to a node of the plan
        self.targets: set[Node] | None = None  # None: the leaves
        self.stops: set[Node] = set()  # targets below which there is no other
        self.final: dict[Node, Any] = {}
        self.special: list[Node] = []  # nodes of the plan with a state: hooks, releases
        self.listeners = False
        self.nodes = 0

    def plan(self, roots: tuple[Node, ...]) -> None:
        """Collect every node below the roots, oldest first."""
        self.roots = roots
        pending = self.pending = dict.fromkeys(roots)
        order = self.order = list(pending)
        special = self.special = []
        for node in order:  # grows while it is walked
            if node.state is not None:
                special.append(node)
            for e in node.edges:
                if e is not None and e not in pending:
                    pending[e] = None
                    order.append(e)
        order.sort(key=by_seq)
        self.nodes = len(order)
        if special:
            self._plan_listeners()

    def _plan_listeners(self) -> None:
        """A leaf that somebody listens to comes right after its last consumer, not at the end."""
        states = [n.state for n in self.special if n.state is not None]
        self.listeners = any(s.hooks or s.post_hooks or s.user for s in states)
        if any(type(n) is Leaf for n in self.special):
            ready: dict[Node, tuple[float, int]] = {}
            for node in reversed(self.order):
                for k, e in enumerate(node.edges):
                    if type(e) is Leaf and e.state is not None:
                        ready[e] = (node.seq - 0.5, -k)  # of several, that of the first input
            self.order.sort(key=lambda node: ready.get(node, (node.seq, 0)))

    def restrict(self, targets: set[Node]) -> None:
        """Keep only what lies between the roots and the targets that they reach."""
        useful: set[Node] = set()
        for node in self.order:  # oldest first: inputs before consumers
            through = not useful.isdisjoint(node.edges)
            if through or node in targets:
                useful.add(node)
                if not through:
                    self.stops.add(node)
        self.order = [node for node in self.order if node in useful]
        self.pending = dict.fromkeys(self.order)
        self.targets = targets & useful

    def check(self) -> None:
        """Raise if the walk cannot succeed: a released node, or a saved value written since."""
        for node in self.special:
            if node not in self.pending or node in self.stops or node.state is None:
                continue
            if node.state.refusal is not None:
                raise node.state.refusal()
            if node.state.released:
                if node.saved or not compatibility.lenient:
                    raise _errors.released(self, node)
                _errors.warn_released(self, node)
        newest = _storage.clock.newest
        for node in self.order:
            if node.seq > newest:
                break
            if node.saved and node not in self.stops:
                self._check_saved(node)

    def check_released(self) -> None:
        """Raise if any node of the whole plan is released, on the way to the targets or not.

        Under the torch alias released nodes keep their edges, and hide nothing.
        """
        if compatibility.lenient:
            return
        for node in self.special:
            if node.state is not None and node.state.released and node not in self.stops:
                raise _errors.released(self, node)

    def _check_saved(self, node: Node) -> None:
        for slot, _ in node.saved:
            kept = getattr(node, slot)
            for value in kept if type(kept) is list else (kept,):
                if isinstance(value, Tensor):  # of a derivative inside another transform
                    value = memory_of(value)
                if type(value) is np.ndarray:
                    write = _storage.write_after(value, node.seq)
                    if write is not None:
                        raise _errors.overwritten(self, node, slot, value, write)

    def run(self, seeds: Sequence[Any]) -> None:
        """Walk from the roots with their cotangents; the results are in `final`."""
        for observe in observers:
            observe(self, "before")
        for root, g in zip(self.roots, seeds, strict=True):
            if root in self.pending:
                here = self.pending[root]
                self.pending[root] = g if here is None else here + g
        if self.create_graph:
            with enable_grad():
                self._run_general(lifted)
        elif self.targets is not None or self.listeners:
            self._run_general(plain)
        else:
            self._run_plain()
        self.pending, self.order, self.special, self.roots, self.stops = {}, [], [], (), set()
        for observe in observers:
            observe(self, "after")

    def _run_plain(self) -> None:
        """The usual walk: arrays, every leaf, nobody listening. All time goes here."""
        pending, order, mark = self.pending, self.order, self.mark
        releasing = self.retain is False and not compatibility.lenient
        while order:
            node = order.pop()
            g = pending.pop(node)
            edges = node.edges
            if g is None:
                continue
            if alive and type(g) is Slices:
                g = g.dense()
            if node.state is not None:
                self._retain(node, g)
            if not edges:
                self.final[node] = g
                continue
            for e, ge in zip(edges, node.pullback(g)):  # noqa: B905 (a keyword costs here)
                if ge is not None:
                    here = pending[e]
                    pending[e] = ge if here is None else here + ge
            if releasing and node.state is None:
                node.release()
                node.state = mark
            elif self.retain is not True:
                del e, edges  # references that `_release` would count
                self._release(node, 0)

    def _run_general(self, lift: Lift) -> None:
        """Chosen targets, listeners, or a recorded derivative.

        Listeners are user code and may raise: then nothing is released before all of them ran.
        """
        pending, order = self.pending, self.order
        walked: list[Node] = []
        while order:
            node = order.pop()
            g = pending[node]
            pending[node] = None
            if g is None or not self._pass(node, g, lift) or self.retain is True:
                continue
            if self.listeners:
                walked.append(node)
            else:
                self._release(node, 1)
        walked.reverse()
        while walked:
            self._release(walked.pop(), 0)

    def _pass(self, node: Node, g: Any, lift: Lift) -> bool:
        """Take what arrived at a node and send it on; False where the walk ends."""
        pending, targets = self.pending, self.targets
        if alive and type(g) is Slices:
            g = g.dense()
        if node.state is not None:
            g = self._listen(node, g)
        if not node.edges if targets is None else node in targets:
            self.final[node] = g
        if not node.edges or node in self.stops:
            return False
        for e, ge in zip(node.edges, node.pullback_to(g, pending, lift), strict=True):
            if ge is not None:
                assert e is not None
                here = pending[e]
                pending[e] = ge if here is None else here + ge
        return True

    def _release(self, node: Node, known: int) -> None:
        """Let go of what a node saved and of what is below it.

        With `retain_graph="auto"` only if nothing else refers to it: its consumers in this
        walk, if released, no longer do. `known` counts the caller's own references.
        """
        auto = self.retain == "auto"
        if auto and getrefcount(node) > _ALONE + known and node not in self.roots:
            return
        if auto or not compatibility.lenient:
            node.release()
        else:
            node.clear()
        if node.state is None:
            node.state = self.mark
        else:
            node.state.released = self.call

    def _listen(self, node: Node, g: Any) -> Any:
        """Run the hooks on the gradient that arrived at a node; return what they made of it."""
        state = node.state
        if state is not None and state.hooks:
            for hook in list(state.hooks.values()):
                answer = hook(g if type(g) in tensors else wrap(g))
                if answer is not None:
                    g = _errors.checked_hook_result(answer, node)
                    g = g if self.create_graph else g._array
        self._retain(node, g)
        return g

    def _retain(self, node: Node, g: Any) -> None:
        """Keep the gradient of a tensor that asked with `retain_grad()`."""
        state = node.state
        if state is not None and state.retain is not None:
            self.final[node] = g


def plain(value: Any, edge: Node | None) -> Any:
    """Saved values as they are."""
    return value


def lifted(value: Any, edge: Node | None) -> Any:
    """Saved values as Tensors with their place in the graph."""
    if type(value) is np.ndarray:
        return wrap(value, edge)
    if type(value) is list:
        return [lifted(v, None) for v in value]
    return value


def _alone() -> int:
    """What getrefcount says of a node that nothing but the walk refers to."""

    def probe(node: Node) -> int:
        return getrefcount(node)

    node = Leaf()
    return probe(node)


_ALONE = _alone()
