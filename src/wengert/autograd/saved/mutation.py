"""Permission to write to saved tensors in place: the write first copies them for the nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from wengert.autograd import naming
from wengert.autograd.errors import GraphError
from wengert.autograd.saved import packing
from wengert.core import storage
from wengert.core.signals import call_despite_signals, contextmanager
from wengert.core.storage import owner
from wengert.core.tensor import Node, state_of


class OutsideContextError(GraphError, AssertionError):
    """Backward over a graph whose saved values were released with their context."""


Refs = list["weakref.ref[Node]"]
_SWEEP = 1000  # slack of the index before dead references are swept


class MutationContext:
    """The value of `allow_mutation_on_saved_tensors`: tracks the nodes recorded under it.

    Nodes are held weakly. They are indexed by the memory they saved only when a write occurs:
    a node whose memory is never written to costs one weak reference.
    """

    def __init__(self) -> None:
        self._fresh: Refs = []  # recorded since the latest write
        self._filed: dict[int, Refs] = {}  # by the id of the array that owns the memory
        self._count = self._alive = 0  # references that are filed, and were after the latest sweep

    def recorded(self, node: Node) -> Node:
        """Register a node."""
        if node.saved:
            self._fresh.append(weakref.ref(node))
        return node

    def before_write(self, array: np.ndarray) -> None:
        """Give nodes that saved elements of `array` their own copy."""
        self._file()
        key = id(owner(array))
        readers = self._filed.get(key)
        if readers is None:
            return
        copies = _Copies(array)
        still_sharing = [
            ref for ref in readers if (node := ref()) is not None and copies.give(node)
        ]
        if still_sharing:
            self._filed[key] = still_sharing
        else:
            del self._filed[key]

    def _file(self) -> None:
        for ref in self._fresh:
            node = ref()
            if node is not None:
                for key in {id(owner(array)) for _, array, _ in _saved_arrays(node)}:
                    self._filed.setdefault(key, []).append(ref)
                    self._count += 1
        self._fresh = []
        if self._count > 2 * self._alive + _SWEEP:
            self._drop_dead()

    def _drop_dead(self) -> None:
        for key, refs in list(self._filed.items()):
            alive = [r for r in refs if (node := r()) is not None and any(_saved_arrays(node))]
            if alive:
                self._filed[key] = alive
            else:
                del self._filed[key]
        self._count = self._alive = sum(map(len, self._filed.values()))

    def clear(self) -> None:
        """Release everything saved so far; backward over it is an error from now on."""
        references = [ref for refs in (self._fresh, *self._filed.values()) for ref in refs]
        self._fresh, self._filed = [], {}
        self._count = self._alive = 0
        for ref in references:
            node = ref()
            if node is not None and any(_saved_arrays(node)):
                node.clear()
                state_of(node).refusal = partial(_outside, weakref.ref(node))


def _outside(ref: weakref.ref[Node]) -> OutsideContextError:
    node = ref()
    what = "" if node is None else f" It recorded {naming.describe_node(node)}."
    return OutsideContextError(
        "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the"
        f" graph was originally recorded.{what} What it saved was let go with the context, or by"
        " its clear(): call backward inside, before that."
    )


def _saved_arrays(node: Node) -> Iterator[tuple[str, np.ndarray, int | None]]:
    """The saved arrays of a node: the slot, the array, and its place if the slot has a list."""
    for slot, _ in node.saved:
        value = getattr(node, slot)
        if type(value) is np.ndarray:
            yield slot, value, None
        elif type(value) is list:
            yield from ((slot, v, k) for k, v in enumerate(value) if type(v) is np.ndarray)


class _Copies:
    """Copies of arrays about to be overwritten, shared by all nodes that saved the same view."""

    def __init__(self, written: np.ndarray) -> None:
        self.written = written
        self.made: dict[Any, np.ndarray] = {}

    def give(self, node: Node) -> bool:
        """Put copies in place; return whether the node still shares memory with the owner."""
        base = owner(self.written)
        shares = False
        for slot, array, index in list(_saved_arrays(node)):
            if np.may_share_memory(array, self.written):
                if index is None:
                    setattr(node, slot, self._copy(array))
                else:
                    getattr(node, slot)[index] = self._copy(array)
            else:
                shares = shares or owner(array) is base
        return shares

    def _copy(self, array: np.ndarray) -> np.ndarray:
        address = array.__array_interface__["data"][0]
        key = address, array.shape, array.strides, array.dtype
        copy = self.made.get(key)
        if copy is None:
            copy = self.made[key] = array.copy(order="K")
        return copy


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """A context in which saved tensors may be modified in place.

    A write first copies the values it changes for the nodes that need them. Backward over a
    graph recorded here must also run here: on exit the saved tensors are released. The context's
    value has a `clear()` that releases them earlier.

    >>> import wengert
    >>> from wengert.autograd.graph import allow_mutation_on_saved_tensors
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = x.exp()
    ...     z = (y * y).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([ 14.7781, 109.1963])
    """
    if any(isinstance(saver, MutationContext) for saver, _ in packing.saver_stack.entries):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = MutationContext()
    guard: Callable[[np.ndarray], None] = context.before_write
    packing.enter_saver(context)
    try:
        try:
            storage.guards.append(guard)
            yield context
        finally:
            call_despite_signals(_unguard, guard)
    finally:
        call_despite_signals(packing.leave_saver, context)
        context.clear()


def _unguard(guard: Any) -> None:
    if guard in storage.guards:
        storage.guards.remove(guard)
