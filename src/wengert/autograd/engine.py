"""The backward walk: plan, check, walk, release.

A walk plans first: it collects the nodes it will visit and raises if it cannot succeed
(released nodes, saved values overwritten since), before it changes anything.
Then it goes from the newest node to the oldest. Gradients of leaves are collected in
`final`; the caller commits them when the walk is done.

Walks of several threads, and walks that a hook starts within a walk, run concurrently.
They may share leaves, but other nodes only if none of them releases those.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd import errors
from wengert.autograd._release_errors import AutoCall, Interrupted, graph_released, warn_released
from wengert.autograd.hooks import outputs_of, run_posthooks, run_prehooks, run_tensor_hooks
from wengert.autograd.relay import is_deep, run_in_fresh_thread, this_thread
from wengert.core import storage
from wengert.core.cotangents import add_cotangents
from wengert.core.dispatching import dispatching
from wengert.core.forks import cached_property
from wengert.core.references import ALONE
from wengert.core.sparse import stored_array
from wengert.core.tensor import (
    Call,
    Leaf,
    Node,
    NodeState,
    Tensor,
    by_seq,
    caller,
    getframe,
    identity_lift,
    mode,
    thread_states,
    tick,
    wrap,
)
from wengert.kernels import buffers
from wengert.ops.subscript import deferred

Lift = Callable[[Any, "Node | None"], Any]
Grads = tuple[Any, ...]

# Called for each walk with "before" when it starts and "after" or "raised" when it ends, or only
# with "refused" if its plan or check forbids it. `wengert run` builds its report from here.
observers: list[Callable[[Walk, str], None]] = []


class Compatibility:
    """Under the torch alias, released nodes that saved nothing let a second backward pass."""

    lenient = False


compatibility = Compatibility()


class Anomaly:
    """Whether anomaly detection is on, for all threads; `anomaly_mode` sets it."""

    enabled = False
    check_nan = True
    check_writes = False
    # Called with a walk, a node, the gradient that arrived there and the results of its rules.
    check: Callable[[Walk, Node, Any, Grads], None] | None = None


anomaly = Anomaly()


_RECENT = 4096


class WalkRecord(NamedTuple):
    """A record of a walk: when it began, and with which options.

    Plain values only, so that it keeps no part of the graph alive.
    """

    when: int
    call: Call
    oldest: int  # the number of the first operation it visits
    releases: bool
    step: bool  # False for a derivative used inside a larger computation


class RunningWalks:
    """The walks in progress, and the lock that lets one plan at a time.

    A plan reads nodes that another thread may be releasing. It compares itself with the
    walks that were running when it began; later ones compare themselves with it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.walks: set[Walk] = set()
        self.recent: deque[WalkRecord] = deque(maxlen=_RECENT)  # the latest


running_walks = RunningWalks()
if hasattr(os, "register_at_fork"):  # a thread missing in the child may hold the lock
    os.register_at_fork(after_in_child=running_walks.__init__)  # type: ignore[misc]


class InnermostWalk(threading.local):
    """The innermost walk running hooks on this thread."""

    walk: Walk | None = None


innermost = InnermostWalk()
thread_states.append(innermost)


class Walk:
    """One backward call: its line of code, its plan and its results."""

    call: Call
    # Defaults that most walks never change are class attributes, which cost nothing per walk.
    roots: tuple[Node, ...] = ()
    targets: set[Node] | None = None  # None: the leaves
    stops: set[Node] | frozenset[Node] = frozenset()  # targets with no other target below them
    accumulates = False  # whether leaves are visited like other nodes, hooks included
    reaches_all_leaves = True  # and goes nowhere else
    listeners = False
    lifts = False  # whether rules are given tensors although nothing is recorded
    current_node: Node | None = None  # of a walk with listeners
    collectors: tuple[Any, ...] = ()  # of leaves that it has reached
    nodes = 0
    # With retain_graph="auto": references not held by other tensors, by the node's id.
    own_references: Counter[int]

    def __init__(self, what: str, retain: bool | str, create_graph: bool) -> None:
        self.retain, self.create_graph = retain, create_graph
        if retain == "auto":
            self.call, self.own_references = AutoCall(what, *caller(getframe(1))), Counter()
        else:
            self.call = Call(what, *caller(getframe(1)))
        self.mark = NodeState(self.call, shared=True)  # of the nodes it releases
        self.thread = this_thread()
        self.order: list[Node] = []  # oldest first; the walk goes from its end
        self.pending: dict[Any, Any] = {}  # gradients in flight; the keys are the plan
        self.stateful_nodes: list[Node] = []  # nodes of the plan with a state: hooks, releases
        self.final: dict[Node, Any] = {}
        self.retained: dict[Node, Any] = {}  # for tensors with `retain_grad()`

    @cached_property
    def notes(self) -> dict[Any, Any]:
        """Storage for hooks that lasts until the walk is done."""
        return {}

    def go(
        self,
        roots: tuple[Node, ...],
        seeds: Sequence[Any],
        targets: set[Node] | None = None,
        accept: Callable[[], None] | None = None,
        lift: Lift | None = None,
    ) -> None:
        """Plan, check and walk. `accept` may raise once the plan is known."""
        buffers.enter()
        try:
            try:
                with running_walks.lock:
                    self._begin(roots, targets, accept)
            except Exception:
                for observe in observers:
                    observe(self, "refused")
                raise
            if innermost.walk is not None and is_deep():
                run_in_fresh_thread(partial(self.run, seeds, lift))
            else:
                self.run(seeds, lift)
            for collector in self.collectors:
                collector.settle(self)
        finally:
            running_walks.walks.discard(self)

    def _begin(
        self,
        roots: tuple[Node, ...],
        targets: set[Node] | None,
        accept: Callable[[], None] | None,
    ) -> None:
        """Plan, check, and join the running walks."""
        others = self._others() if running_walks.walks else ()
        self.plan(roots)
        if targets is not None:
            self.restrict(targets)
            self._check_hidden(targets)
        if accept is not None:
            accept()
        self.check()
        for other, pending, stops in others:
            if self._disturbs(other, pending, stops):
                raise errors.graph_in_use(self.call, other.call, other.thread == self.thread)
        running_walks.walks.add(self)
        running_walks.recent.append(self._record())

    def _record(self) -> WalkRecord:
        oldest = next((node.seq for node in self.order if type(node) is not Leaf), 0)
        retains = self.retain is True
        step = not (self.create_graph or self._is_inner(retains))
        return WalkRecord(tick(), self.call, oldest, not retains, step)

    def _is_inner(self, retains: bool) -> bool:
        """Whether it differentiates for some tensors of a graph still in use, or for no leaf."""
        targets = self.targets
        return targets is not None and (retains or not any(type(t) is Leaf for t in targets))

    def _others(self) -> list[tuple[Walk, dict[Any, Any], Any]]:
        """The running walks and their plans, which they drop when they end."""
        return [(w, w.pending, w.stops) for w in list(running_walks.walks)]

    def plan(self, roots: tuple[Node, ...]) -> None:
        """Collect every node below the roots, oldest first."""
        self.roots = roots
        if self.retain == "auto":
            self.own_references.update(map(id, roots))
        pending = self.pending = dict.fromkeys(roots)
        order = self.order = list(pending)
        special = self.stateful_nodes = []
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
        """Place a leaf with listeners right after its last consumer, not at the end."""
        states = [n.state for n in self.stateful_nodes if n.state is not None]
        self.listeners = any(
            s.hooks or s.node_prehooks or s.node_hooks or s.post_hooks or s.user for s in states
        )
        if any(type(n) is Leaf for n in self.stateful_nodes):
            ready: dict[Node, tuple[float, int]] = {}
            for node in reversed(self.order):
                for k, e in enumerate(_by_rule(node)):
                    if type(e) is Leaf and e.state is not None:
                        ready[e] = (node.seq - 0.5, -k)  # of several, that of the first rule
            self.order.sort(key=lambda node: ready.get(node, (node.seq, 0)))

    def restrict(self, targets: set[Node]) -> None:
        """Restrict the plan to nodes between the roots and the targets they reach."""
        useful: set[Node] = set()
        stops = self.stops = set()
        for node in self.order:  # oldest first: inputs before consumers
            through = not useful.isdisjoint(node.edges)
            if through or node in targets:
                useful.add(node)
                if not through:
                    stops.add(node)
        reaches_everything = len(useful) == len(self.order) and all(
            type(node) is Leaf for node in targets
        )
        self.reaches_all_leaves = self.reaches_all_leaves and reaches_everything
        self.mark.below.update(node for node in self.order if type(node) is Leaf)
        self.order = [node for node in self.order if node in useful]
        self.pending = dict.fromkeys(self.order)
        self.targets = targets & useful

    def check(self) -> None:
        """Raise if the walk cannot succeed: a released node, or a saved value overwritten since."""
        passed = []  # a warning about a walk that succeeds
        for node in self.stateful_nodes:
            if node not in self.pending or node in self.stops or node.state is None:
                continue
            if node.state.refusal is not None:
                raise node.state.refusal()
            if node.state.released:
                if node.saved or not compatibility.lenient or _is_severed(node):
                    raise graph_released(self.call, node, self.roots)
                passed.append(node)
        newest = storage.clock.newest
        for node in self.order:
            if node.seq > newest:
                break
            if node.saved and node not in self.stops:
                self._check_saved(node)
        for node in passed:
            warn_released(self.call, node)

    def _check_hidden(self, targets: set[Node]) -> None:
        """Raise if a released node may hide a path to a target: part of a gradient would be lost.

        A released node has dropped its edges. The leaves below the call that released it are
        on record; an inner target below it was released with it. Under the torch alias released
        nodes keep their edges and hide nothing, unless `retain_graph="auto"` released them.
        """
        for node in self.stateful_nodes:
            state = node.state
            if state is None or not state.released or node in self.stops or node in targets:
                continue
            if not _is_severed(node):
                continue
            for target in targets:
                inner = target.state is not None and target.state.released is state.released
                if target in state.below or (inner and target.seq < node.seq):
                    raise graph_released(self.call, node, self.roots)

    def _check_saved(self, node: Node) -> None:
        for slot, _ in node.saved:
            slot_value = getattr(node, slot)
            for value in slot_value if type(slot_value) is list else (slot_value,):
                if isinstance(value, Tensor):  # of a derivative inside another transform
                    value = stored_array(value)
                if type(value) is np.ndarray:
                    write = storage.write_after(value, node.seq)
                    if write is not None:
                        raise errors.saved_tensor_overwritten(self.call, node, slot, value, write)

    def _disturbs(self, other: Walk, pending: dict[Any, Any], stops: Any) -> bool:
        """Whether this walk and a running one share a node that one of them releases."""
        inside = other.thread == self.thread  # then the other waits until this one is done
        if self.retain is not False if inside else self.retain is True is other.retain:
            return False
        if pending.keys().isdisjoint(self.order):
            return False
        passed = (
            other.current_node.seq if inside and other.current_node is not None else float("inf")
        )
        return any(
            node in pending
            and node.seq <= passed
            and type(node) is not Leaf
            and node not in stops
            and node not in self.stops
            for node in self.order
        )

    def run(self, seeds: Sequence[Any], lift: Lift | None = None) -> None:
        """Walk from the roots with their cotangents; the results go to `final`.

        `lift` turns saved values into what the rules operate on; by default those are arrays,
        or Tensors with `create_graph`.
        """
        for observe in observers:
            observe(self, "before")
        self._seed(seeds)
        self.stateful_nodes = []  # references that `_release` would count
        try:
            if self.create_graph:
                self.call_recording(self._run_general, lift or lift_to_tensor)
            elif self.lifts:
                self.call_recording(self._run_general, lift_to_tensor)
            elif dispatching.modes and lift is None and not dispatching.computing:
                self.call_recording(self._run_seen)
            elif self.listeners and lift is None and not any(isinstance(g, Tensor) for g in seeds):
                self.call_recording(self._run_general, identity_lift)
            elif lift or not self._is_plain(seeds):
                self._run_general(lift or identity_lift)
            else:
                self._run_plain()
        except BaseException:
            self.interrupted()
            for observe in observers:
                observe(self, "raised")
            raise
        self.pending, self.order, self.roots, self.stops = {}, [], (), frozenset()
        for observe in observers:
            observe(self, "after")

    def _run_seen(self) -> None:
        """On Tensors, without recording: dispatch modes see what the rules compute."""
        for root, g in self.pending.items():
            if type(g) is np.ndarray:
                self.pending[root] = wrap(g)
        self._run_general(lift_to_constant)
        for gradients in (self.final, self.retained):
            for node, g in gradients.items():
                if type(g) is Tensor:
                    gradients[node] = g._array

    def _seed(self, seeds: Sequence[Any]) -> None:
        """Put the cotangents at the roots."""
        for root, g in zip(self.roots, seeds, strict=True):
            if root in self.pending:
                earlier = self.pending[root]
                self.pending[root] = g if earlier is None else earlier + g

    def _is_plain(self, seeds: Sequence[Any]) -> bool:
        """Whether the walk carries arrays to all leaves, without listeners."""
        if self.listeners or not self.reaches_all_leaves or anomaly.check:
            return False
        return self.targets is None or not any(isinstance(g, Tensor) for g in seeds)

    def call_recording(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function that may call hooks, with grad mode on only under `create_graph`.

        Not a `with`: a signal may arrive before the first line of an `__exit__`.
        """
        before = mode.site, mode.off
        try:
            if self.create_graph:
                mode.site = mode.where
            else:
                what, code, lasti = self.call
                mode.site = None
                mode.off = f"{what} without create_graph", code, lasti, None
            function(*args)
        finally:
            mode.site, mode.off = before

    def interrupted(self) -> None:
        """Mark the nodes this call has released as released by an interrupted call."""
        call = self.mark.released = Interrupted(*self.call)
        for node in self.order:
            if node.state is not None and node.state.released is self.call:
                node.state.released = call

    def _run_plain(self) -> None:
        """The common walk: arrays, every leaf, no hooks. This is the hot loop."""
        pending, mark = self.pending, self.mark
        releasing = self.retain is False and not compatibility.lenient
        try:
            for node in reversed(self.order):
                # The key stays, as part of the plan; the gradient is freed with its node's turn.
                g = pending[node]
                pending[node] = None
                if g is None:
                    continue
                if type(g) in deferred:
                    g = g.at_leaf() if type(node) is Leaf else g.dense()
                if node.state is not None:
                    self._retain(node.state, node, g)
                if type(node) is Leaf:
                    self.final[node] = g
                    continue
                node.send(g, pending)
                if releasing and node.state is None:
                    node.state = mark  # set first, so that an interrupted release counts as one
                    node.release()
                elif self.retain is not True:
                    self._release(node, 2)
            self.mark.below.update(self.final)  # type: ignore[arg-type]  # leaves all of them
        except Exception as error:
            errors.add_graph_note(self.call, node, error)
            raise

    def _run_general(self, lift: Lift) -> None:
        """Chosen targets, listeners, or a recorded derivative.

        Listeners are user code and may raise, as may anomaly detection, so nothing is
        released until all of them have run.
        """
        pending = self.pending
        waiting = self.listeners or anomaly.check is not None
        walked: list[Node] = []
        outside, innermost.walk = innermost.walk, self
        try:
            for node in reversed(self.order):
                g = pending[node]
                pending[node] = None
                self.current_node = node
                if not self._pass(node, g, lift) or self.retain is True:
                    continue
                if waiting:
                    walked.append(node)
                else:
                    self._release(node, 3)
        except Exception as error:
            errors.add_graph_note(self.call, node, error)
            raise
        finally:
            innermost.walk = outside
        self.current_node = None
        if self.targets is None:
            self.mark.below.update(self.final)  # type: ignore[arg-type]
        if anomaly.check is not None:
            for node, g in self.final.items():
                anomaly.check(self, node, g, ())
        self._release_in_turn(walked)

    def _release_in_turn(self, walked: list[Node]) -> None:
        # Not behind the `try` above: there Python 3.14 counts one more reference for a call.
        walked.reverse()
        while walked:
            node = walked.pop()
            self._release(node, 2)

    def _pass(self, node: Node, g: Any, lift: Lift) -> bool:
        """Process the gradient at a node and send it on; False if the walk ends here."""
        state = node.state
        if type(g) in deferred:
            g = g.at_leaf() if type(node) is Leaf else g.dense()
        if state and (state.hooks or state.retain or state.collector or self.accumulates):
            g = self._arrive(node, state, g)
        # Results are the gradients of leaves or, with `inputs`, of the chosen targets.
        if g is not None and (not node.edges if self.targets is None else node in self.targets):
            self.final[node] = g
        if not node.edges or node in self.stops:
            return False
        if state is None or not (state.node_prehooks or state.node_hooks):
            grads = None if g is None else node.pullback_to(g, self.pending, lift)
        else:
            grads = self._derive(node, state, g, lift)
        if grads is None:
            return False
        if anomaly.check is not None:
            anomaly.check(self, node, g, grads)
        pending = self.pending
        for e, ge in zip(node.edges, grads, strict=True):
            if ge is not None:
                assert e is not None
                earlier = pending[e]
                pending[e] = ge if earlier is None else add_cotangents(earlier, ge)
        return True

    def _arrive(self, node: Node, state: NodeState, g: Any) -> Any:
        """Run the hooks on the gradient that arrived at a node; return their result."""
        if state.hooks:
            g = run_tensor_hooks(state, g)
        if self.accumulates and state.node_prehooks and not node.edges:
            g = run_prehooks(node, state, g)
        self._retain(state, node, g)
        return g

    def _derive(self, node: Node, state: NodeState, g: Any, lift: Lift) -> Grads | None:
        """The gradients of a node's inputs after its hooks; None if none arrived."""
        if state.node_prehooks:
            g = run_prehooks(node, state, g)
        grads = None if g is None else node.pullback_to(g, self.pending, lift)
        if not state.node_hooks:
            return grads
        input_gradients = (None,) * len(node.edges) if grads is None else grads
        hooked = run_posthooks(state, input_gradients, outputs_of(node, g))
        return None if grads is None else hooked

    def _retain(self, state: NodeState, node: Node, g: Any) -> None:
        """Store the gradient of a tensor with `retain_grad()`; show a leaf's to its collector."""
        if state.retain is not None and g is not None:
            self.retained[node] = g
        collector = None if state.collector is None else state.collector()
        if collector is not None and g is not None and collector.collects(self, node, g):
            self.collectors += (collector,)

    def _release(self, node: Node, own_references: int) -> None:
        """Release a node's saved values and edges.

        With `retain_graph="auto"` only if nothing else refers to it: consumers released in this
        walk no longer do, and a root's own tensor does not count. `own_references` is the
        number of references the walk itself holds.
        """
        auto = self.retain == "auto"
        if auto and getrefcount(node) > ALONE + own_references + self.own_references[id(node)]:
            return
        if node.state is None or node.state.shared:
            node.state = self.mark
        else:
            node.state.released, node.state.below = self.call, self.mark.below
        if auto or not compatibility.lenient:
            node.release()
        else:
            node.clear()


def _by_rule(node: Node) -> Sequence[Node | None]:
    """The edges of a node in the order in which its rules are declared: that of their hooks."""
    op = getattr(node, "op", None)  # none of leaves, lists and functions of users
    if op is None or len(op.rules) != len(node.edges):
        return node.edges
    edges = dict(zip(op.inputs, node.edges, strict=True))
    return [edges[name] for name in op.rules]


def _is_severed(node: Node) -> bool:
    """Whether a released node has dropped its edges."""
    return all(e is None for e in node.edges)


def lift_to_constant(value: Any, edge: Node | None) -> Any:
    """Saved values as Tensors without a place in the graph."""
    return lift_to_tensor(value, None)


def lift_to_tensor(value: Any, edge: Node | None) -> Any:
    """Return saved values as Tensors with their place in the graph."""
    if type(value) is np.ndarray:
        return wrap(value, edge)
    if type(value) is list:
        return [lift_to_tensor(v, None) for v in value]
    return value
