"""Checkpoints that do not need a reentrant backward: nodes whose saved values come back.

The forward records as always, but each node leaves what it would have saved to a `Frame`,
which drops it, and has a `Kept` in its place. When a walk comes to the first such node, the
frame runs the function again and collects, in the same order, what the nodes of that second
graph saved; each node takes what is its own as the walk passes.

References run one way here too: nodes hold the frame (through `Kept`), the frame holds the
function and its arguments, and knows nodes by weak references only.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

from wengert import _storage
from wengert._core import (
    Call,
    Leaf,
    Node,
    Site,
    Tensor,
    caller,
    getframe,
    mode,
    tensors,
    wrap,
)
from wengert.autograd._errors import SavedTensorOverwrittenError, called, made
from wengert.autograd._mode import enable_grad
from wengert.ops._variadic import record
from wengert.utils.checkpoint._mismatch import CheckpointError, Report, Step, agree, outline
from wengert.utils.checkpoint._states import random_state


class Kept:
    """Stands in a node for values that a frame can compute again; knows which ones."""

    __slots__ = ("__weakref__", "frame", "index", "slots")

    def __init__(self, frame: Frame, index: int, slots: list[str]) -> None:
        self.frame, self.index, self.slots = frame, index, slots


class Hollow(Node):
    """What the classes of nodes share whose saved values are with a frame."""

    __slots__ = ()

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """As that of the operation, with its values back for as long as it takes."""
        kept = _fill(self)
        try:
            return super().pullback(g)
        finally:
            _empty(self, kept)

    def pullback_to(self, g: Any, wanted: Any, lift: Any) -> tuple[Any, ...]:
        """As `pullback`."""
        kept = _fill(self)
        try:
            return super().pullback_to(g, wanted, lift)
        finally:
            _empty(self, kept)


def _fill(node: Node) -> Kept | None:
    kept = next(
        (v for slot, _ in node.saved if type(v := getattr(node, slot)) is Kept), None
    )
    if kept is not None:
        for slot, value in zip(kept.slots, kept.frame.values(kept.index), strict=True):
            setattr(node, slot, value)
    return kept


def _empty(node: Node, kept: Kept | None) -> None:
    if kept is not None:
        for slot in kept.slots:
            setattr(node, slot, kept)


def _hollow(kind: type[Node]) -> type[Node]:
    """The class of nodes of that kind whose values are with a frame."""
    made: type[Node] | None = kind.__dict__.get("_hollow")
    if made is None:
        made = type(kind.__name__, (Hollow, kind), {"__slots__": ()})
        kind._hollow = made  # type: ignore[attr-defined]
    return made


def _droppable(node: Node) -> list[str]:
    """The slots whose values cost memory: not those of leaves, which exist anyway."""
    slots = []
    for slot, owner in node.saved:
        if getattr(node, slot) is not None:
            edge = node.edges[owner] if owner is not None and owner >= 0 else None
            if type(edge) is not Leaf:
                slots.append(slot)
    return slots


class Watching(Site):
    """A site whose nodes a recorder is told of, in the place of another site."""

    __slots__ = ("recorder",)

    recorder: Any

    def child(self, module: Any) -> Watching:
        """The site inside `module`, watched by the same recorder."""
        inner = type(self)(self, module)
        inner.recorder = self.recorder
        return inner

    def recorded(self, node: Node) -> Node:
        """The node that takes this one's place in the graph."""
        found: Node = self.recorder(node)
        return found


def watching(recorder: Any, shown: Site) -> Watching:
    """A site that tells errors what `shown` does."""
    site = Watching(shown.parent)
    site.module, site.recorder = shown.module, recorder
    return site


class Inputs(Node):
    """The tensors that a checkpointed function was given, saved like those of an operation."""

    __slots__ = ("s_tensors",)

    saved = (("s_tensors", None),)
    s_tensors: list[Any] | None

    def clear(self) -> None:
        """Let go of the tensors."""
        self.s_tensors = None


Inputs.__name__ = Inputs.__qualname__ = "Checkpoint"


class Arguments:
    """The arguments of a call, the tensors among them kept as arrays and edges.

    A tensor that still lives, unchanged, is given out itself. To hold it would close a cycle
    where the function's result is written into it.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.count, self.names = len(args), list(kwargs)
        values = [*args, *kwargs.values()]
        at = [i for i, v in enumerate(values) if type(v) in tensors]
        given = [values[i] for i in at]
        for i in at:
            values[i] = None
        self.values, self.at = values, at
        self.edges = [t._edge for t in given]
        self.refs = [weakref.ref(t) for t in given]
        edges = tuple([e for e in self.edges if e is not None])
        node = record(Inputs, edges, (), mode.where)
        node.s_tensors = [t._array for t in given]
        site = mode.where
        self.node = node if type(site) is Site else site.recorded(node)  # type: ignore[attr-defined]

    def given(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments again; an error if a tensor among them was written to since."""
        kept = _fill(self.node)
        arrays = self.node.s_tensors
        _empty(self.node, kept)
        values = list(self.values)
        for i, array, edge, ref in zip(self.at, arrays, self.edges, self.refs, strict=True):
            if kept is None and _storage.clock.newest > self.node.seq:
                self._check(i, array)
            same = ref()
            if same is None or same._array is not array or same._edge is not edge:
                same = wrap(array, edge)
            values[i] = same
        return values[: self.count], dict(zip(self.names, values[self.count :], strict=True))

    def _check(self, i: int, array: Any) -> None:
        write = _storage.write_after(array, self.node.seq)
        if write is None:
            return
        what = f"argument {i}" if i < self.count else f"argument {self.names[i - self.count]!r}"
        raise SavedTensorOverwrittenError(
            "one of the variables needed for gradient computation has been modified by an inplace"
            f" operation: {what} of a checkpointed function, {array.dtype.name}"
            f" {list(array.shape)}, which is to run again.\n"
            f"  kept by:     checkpoint() ({_storage.place(self.node.code, self.node.lasti)})\n"
            f"  written by:  {write.by}  at {_storage.place(write.code, write.lasti)}\n"
            "  Remedies:\n"
            "    1. use the out-of-place form in the writing line\n"
            "    2. give checkpoint() a .clone()"
        )


class Group:
    """The `GraphExecGroup` that is entered on this thread, if there is one."""

    current: Any = None


group = Group()


class Frame:
    """One call of a checkpointed function: how to run it again, and what the first run saved."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        state: Tensor | None,
        context: AbstractContextManager[Any],
        *,
        check: bool,
        early_stop: bool,
        debug: bool,
    ) -> None:
        self.function, self.arguments = function, arguments
        self.state, self.context = state, context
        self.check, self.early_stop, self.debug = check, early_stop, debug
        self.site = mode.where
        self.call = Call("checkpoint()", *caller(getframe(1)))
        self.complete = False
        self.steps: list[Step] = []
        self.places: list[weakref.ref[Kept]] = []  # of the nodes that left something here
        self.times: list[int] = []  # when those were recorded
        self.found: dict[int, list[Any] | Exception] = {}  # from the latest recomputation
        self.group: Any = None

    def take(self, node: Node) -> Node:
        """Drop what a node saved."""
        slots = _droppable(node)
        self.steps.append(_step(node, slots))
        if slots:
            kept = Kept(self, len(self.places), slots)
            for slot in slots:
                setattr(node, slot, kept)
            self.places.append(weakref.ref(kept))
            node.__class__ = _hollow(type(node))
        return node

    def values(self, index: int) -> list[Any]:
        """What a node saved; given out once, so that it goes as the walk goes on."""
        found = self.found.pop(index, None)
        if found is None:
            self._check_group()
            self._recompute()
            found = self.found.pop(index, None)
        if found is None:
            raise CheckpointError(
                "torch.utils.checkpoint: a backward inside of the checkpointed function released"
                f" in its recomputation what it kept in its forward: {called(self.call)}"
            )
        if isinstance(found, Exception):
            raise found
        return found

    def _check_group(self) -> None:
        if group.current is not None and self.group is group.current:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already"
                " unpacked once. Performing two backward calls that overlap (i.e. require the same"
                " saved activation in order to compute gradients) is not allowed while under the"
                f" torch.utils.checkpoint.GraphExecGroup context: {called(self.call)}"
            )
        self.group = group.current

    def _recompute(self) -> None:
        """Run the function again, up to the last value that is needed, and collect."""
        args, kwargs = self.arguments.given()
        alive = [i for i, place in enumerate(self.places) if place() is not None]
        again = Again(alive[-1] + 1 if self.early_stop else None)
        try:
            with self._surroundings(again):
                self.function(*args, **kwargs)
        except EnoughError as enough:
            if enough.again is not again:
                raise
        again.close()
        self._check(again)
        self.found = {i: again.values(i) for i in alive if again.values(i) is not None}

    @contextmanager
    def _surroundings(self, again: Again) -> Iterator[None]:
        """The grad mode, site and random state of the forward, for as long as it runs again."""
        before = mode.site, mode.where
        mode.where = watching(again, self.site)
        try:
            with enable_grad(), random_state(self.state), self.context:
                yield
        finally:
            mode.site, mode.where = before

    def _check(self, again: Again) -> None:
        saving = (i for i, step in enumerate(self.steps) if step.saved)
        forward = self.steps
        if again.wanted is not None:
            forward = forward[: next(islice(saving, again.wanted - 1, None)) + 1]
        elif not self.complete:  # a backward inside of the function
            return
        if not agree(forward, again.steps, self.check):
            name = getattr(self.function, "__qualname__", type(self.function).__name__)
            where = called(self.call)
            raise Report(name, where, forward, again.steps, self.debug).error()


class EnoughError(BaseException):
    """Ends a recomputation that has found what is needed. No `except Exception` stops it."""

    def __init__(self, again: Again) -> None:
        self.again = again


class Again:
    """Collects what the nodes of a recomputation saved."""

    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted  # how many nodes that save something; None for all there are
        self.steps: list[Step] = []
        self.nodes: list[tuple[Node, list[str]]] = []
        self.open = True

    def __call__(self, node: Node) -> Node:
        if self.open:
            slots = _droppable(node)
            self.steps.append(_step(node, slots))
            if slots:
                self.nodes.append((node, slots))
                if len(self.nodes) == self.wanted:
                    raise EnoughError(self)
        return node

    def close(self) -> None: ...
