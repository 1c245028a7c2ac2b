"""Savers: contexts that intercept the values a node saves, such as saved-tensor hooks.

Savers form a stack per thread; the innermost receives each node as it is recorded. A pair of
hooks packs: each saved array becomes a `Packed`, and the node changes to a class that unpacks
first and then acts as the operation's nodes do. A site only says that there is a saver: a node
holds its site, and must not keep alive hooks it does not need.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

import numpy as np

from wengert.autograd import errors, naming
from wengert.core import storage
from wengert.core.messages import more
from wengert.core.sparse import stored_array
from wengert.core.storage import clock
from wengert.core.tensor import (
    Call,
    Leaf,
    Node,
    Site,
    Tensor,
    caller,
    concrete,
    getframe,
    identity_lift,
    mode,
    new,
    thread_states,
)
from wengert.ops.numbers import constants, factors

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class Saver(Protocol):
    """Receives nodes as they are recorded."""

    def recorded(self, node: Node) -> Node:
        """Return the node, its saved values handled by the saver."""


class SaverStack(threading.local):
    """The savers of a thread, each with the site it replaced."""

    def __init__(self) -> None:
        self.entries: list[tuple[Saver, Site]] = []
        self.refusal: str | None = None  # the reason why savers are disabled, if they are
        self.witness: Callable[[Node], None] | None = None  # notified of nodes after the saver


saver_stack = SaverStack()
thread_states.append(saver_stack)

# Called, on any thread, with each node that a saver has handled, and with None when values that a
# checkpoint dropped are back in memory.
observers: list[Callable[[Node | None], None]] = []


class SaverSite(Site):
    """A site whose nodes are passed to the innermost saver."""

    __slots__ = ("_plain",)

    def __init__(
        self, parent: Site | None = None, module: Any = None, plain: Site | None = None
    ) -> None:
        super().__init__(parent, module)
        self._plain = plain

    @property
    def plain(self) -> Site:
        """The same place, for recording without a saver."""
        if self._plain is None:
            self._plain = Site(self.parent)
            self._plain.module = self.module
        return self._plain

    def instead(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The saver's own result for an operation; None to have it computed."""
        entries = saver_stack.entries
        instead = getattr(entries[-1][0], "instead", None) if entries else None
        return None if instead is None else instead(op, inputs, params)

    def child(self, module: Any) -> SaverSite:
        """The site inside `module`."""
        return SaverSite(self, module)

    def watched(self) -> SaverSite:
        """The site for one more saver, or somebody else who is told of nodes."""
        return self

    def recorded(self, node: Node) -> Node:
        """The node after the saver has handled it."""
        entries, witness = saver_stack.entries, saver_stack.witness
        if entries:
            node = entries[-1][0].recorded(node)
        if witness is not None:
            witness(node)
        for observe in observers:
            observe(node)
        return node


def enter_saver(saver: Saver) -> None:
    """Make `saver` the innermost of this thread. RuntimeError if savers are disabled."""
    if saver_stack.refusal is not None:
        raise RuntimeError(saver_stack.refusal)
    outer = mode.where
    site = _site_for(outer, True)
    # No call from here on: a signal would come in between. So in the two functions below.
    saver_stack.entries += [(saver, outer)]
    mode.where = site
    if mode.site is not None:
        mode.site = site


def leave_saver(saver: Saver) -> None:
    """Remove `saver` if it is the innermost one; a second call does nothing."""
    entries = saver_stack.entries
    if not entries or entries[-1][0] is not saver:
        return
    outer = entries[-1][1]
    seen = saver_stack.witness is not None
    kept = isinstance(outer, SaverSite) and not seen
    site = outer if kept else _site_for(outer, entries[:-1] != [] or seen)
    del entries[-1]
    mode.where = site
    if mode.site is not None:
        mode.site = site


def set_witness(witness: Callable[[Node], None] | None) -> None:
    """Notify `witness` of the nodes of this thread, whatever the saver; None ends it."""
    site = _site_for(mode.where, saver_stack.entries != [] or witness is not None)
    saver_stack.witness = witness
    mode.where = site
    if mode.site is not None:
        mode.site = site


def _site_for(site: Site, observed: bool) -> Site:
    """The site where operations are recorded: one that reports nodes if anyone is listening."""
    if isinstance(site, SaverSite):
        return site.watched() if observed else site.plain
    if not observed:
        return site
    saver_site = SaverSite(site.parent, plain=site)
    saver_site.module = site.module
    return saver_site


class Hooks:
    """A pair of hooks, as a saver."""

    __slots__ = ("pack", "unpack")

    def __init__(self, pack: Pack, unpack: Unpack) -> None:
        self.pack, self.unpack = pack, unpack

    def recorded(self, node: Node) -> Node:
        """Pack the node's saved values, with recording off."""
        kind: Any = type(node)
        try:
            packing = kind.packing
        except AttributeError:
            packing = _packing(kind)
        if packing is not None:
            site = mode.site
            mode.site = None
            try:
                packing(node, self)
            finally:
                mode.site = site
        return node


def callables(pack_hook: Any, unpack_hook: Any) -> tuple[Pack, Unpack]:
    """A pair of hooks; TypeError unless both are callable."""
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise TypeError(f"{name} must be callable, but is a {type(hook).__name__}")
    return pack_hook, unpack_hook


class Packed:
    """The result of a pack hook for a saved array."""

    __slots__ = ("dtype", "same", "shape", "unpack", "value")

    value: Any
    unpack: Unpack
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    same: bool  # whether the value is a tensor of the very array saved

    def restored(self, node: Node, slot: str) -> np.ndarray:
        """Unpack the saved array. TypeError or RuntimeError if the hook's result does not fit."""
        answer = self.unpack(self.value)
        if type(answer) not in concrete:
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of"
                f" type {type(answer).__name__}: {describe_slot(slot)} of"
                f" {naming.describe_node(node)}\n" + more("saved-tensor-hook")
            )
        array: np.ndarray = answer._array
        if array.shape != self.shape:
            raise RuntimeError(
                f"unpack_hook returned a tensor of shape {list(array.shape)} for"
                f" {describe_slot(slot)} of {naming.describe_node(node)}, which has shape"
                f" {list(self.shape)}\n" + more("saved-tensor-hook")
            )
        if self.same and clock.newest > node.seq and array is self.value._array:
            check_unwritten(node, slot, array, "unpack_hook")
        return array if array.dtype == self.dtype else array.astype(self.dtype)


def describe_slot(slot: str) -> str:
    """The name of a saved value in messages."""
    return repr(slot.removeprefix("s_"))


def check_unwritten(node: Node, slot: str, array: np.ndarray, what: str) -> None:
    """Raise if the memory of a saved array was written since it was saved; `what` needs it."""
    write = storage.write_after(array, node.seq)
    if write is not None:
        raise errors.saved_tensor_overwritten(
            Call(what, *caller(getframe(1))), node, slot, array, write
        )


def pack_array(node: Node, array: np.ndarray, tensor: Tensor, hooks: Hooks) -> Packed:
    """Run the pack hook on `array`, passed as `tensor`."""
    before = clock.newest
    value = hooks.pack(tensor)
    if clock.newest != before and storage.write_after(array, before):
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input"
            " to pack hook cannot be modified by in-place operations as this can lead to"
            f" unexpected side-effects: the input came from {naming.describe_node(node)}\n"
            + more("saved-tensor-hook")
        )
    result = new(Packed)
    result.value = value
    result.unpack = hooks.unpack
    result.shape = array.shape
    result.dtype = array.dtype
    result.same = value is tensor or (type(value) in concrete and value._array is array)
    return result


def tensor_of_saved(array: np.ndarray, edge: Node | None) -> Tensor:
    """A saved array as a tensor: the very leaf it belongs to, if any."""
    if type(edge) is Leaf:
        leaf = edge.tensor()
        if leaf is not None and leaf._array is array:
            return leaf
    tensor = new(Tensor)
    tensor._array = array
    tensor._edge = edge
    tensor._cut = tensor._root = None
    return tensor


def is_constant(array: np.ndarray) -> bool:
    """Whether a 0-d array was a Python number passed along with a tensor."""
    key = array.item(), array.dtype
    return constants.get(key) is array or factors.get(key) is array


Packing = Callable[[Any, Hooks], None]


def _packing(kind: Any) -> Packing | None:
    """Build and cache (as `packing`) the function that packs the saved values of a node class.

    None for nodes that save no array, and for classes that handle packing themselves.
    """
    packs = kind.saved and "op" in kind.__dict__
    packing = _packing_of_slots(kind) if packs else None
    kind.packing = None if packing is None else staticmethod(packing)
    return packing


def _packing_of_slots(kind: Any) -> Packing:
    unpacking = unpacking_class(kind)
    slots = []
    for slot, owner in kind.saved:
        # An output is passed without its node: the packed value would hold its own holder.
        edge_of = None
        if owner is not None and owner >= 0:
            edge_of = getattr(kind, f"e_{kind.op.differentiable[owner]}").__get__
        member = getattr(kind, slot)
        slots.append((member.__get__, member.__set__, edge_of))

    def packing(node: Node, hooks: Hooks) -> None:
        for read, write, edge_of in slots:
            array = read(node)
            if type(array) is np.ndarray and (array.shape or not is_constant(array)):
                edge = None if edge_of is None else edge_of(node)
                write(node, pack_array(node, array, tensor_of_saved(array, edge), hooks))
                node.__class__ = unpacking

    return packing


class Unpacking(Node):
    """Mixin of node classes that unpack before they act as the operation's nodes."""

    __slots__ = ()

    operation: ClassVar[type[Node]]
    slots: ClassVar[tuple[tuple[str, Any, Any], ...]]  # their names, and how to read and write them

    def send(self, g: Any, pending: dict[Any, Any]) -> None:
        """As the operation's `send`. The unpack hooks run with recording off."""
        site, mode.site = mode.site, None
        try:
            node = _unpacked(self)
        finally:
            mode.site = site
        node.send(g, pending)

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        """As `send`; the hooks are recorded if the derivative is."""
        site = mode.site
        if lift is identity_lift:
            mode.site = None
        try:
            node = _unpacked(self)
        finally:
            mode.site = site
        return node.pullback_to(g, needed, lambda v, e: lift(v, self if e is node else e))


def _unpacked(node: Unpacking) -> Node:
    """A node of the operation's own class, for one call of its rules."""
    result = new(node.operation)
    for slot, read, write in node.slots:
        value = read(node)
        write(result, value.restored(node, slot) if type(value) is Packed else value)
    return result


def unpacking_class(kind: Any) -> type[Unpacking]:
    """The class of nodes that unpack and then act as those of `kind`."""
    if issubclass(kind, Unpacking):
        return kind
    derived: type[Unpacking] | None = kind.__dict__.get("unpacking")
    if derived is None:
        members = [(name, getattr(kind, name)) for name in kind.__slots__]
        slots = tuple((name, m.__get__, m.__set__) for name, m in members)
        body = {"__slots__": (), "operation": kind, "slots": slots}
        derived = kind.unpacking = type(kind.__name__, (Unpacking, kind), body)
    return derived


class Absent:
    """Placeholder for a saved array that was dropped, and may be back in memory."""

    __slots__ = ()

    def present(self) -> np.ndarray | None:
        """The array, while it is in memory."""
        raise NotImplementedError


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """The arrays that a packed value, or a container of them, keeps in memory."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Tensor):
        yield stored_array(value)
    elif isinstance(value, Packed):
        yield from arrays_in(value.value)
    elif isinstance(value, Absent):
        yield from arrays_in(value.present())
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))
