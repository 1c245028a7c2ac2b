"""Reading saved values: `node._saved_other`, and handles to pack a single value by hooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd import naming
from wengert.autograd._release_errors import saved_value_released
from wengert.autograd.saved.packing import (
    Hooks,
    Packed,
    callables,
    check_unwritten,
    describe_slot,
    pack_array,
    tensor_of_saved,
    unpacking_class,
)
from wengert.core.messages import more
from wengert.core.tensor import Node, SavedSlot, Tensor, mode, wrap


def read_saved(node: Node, slot: str) -> Any:
    """The value in a node's slot; arrays become Tensors with their place in the graph.

    GraphReleasedError for an array of a released node.
    """
    value = getattr(node, slot)
    owner = dict(node.saved).get(slot, _NOT_SAVED)
    if owner is _NOT_SAVED:
        return value
    check_not_released(node, slot)
    return None if value is None else restore_tensor(node, slot, value, saved_edge(node, owner))


_NOT_SAVED: Any = object()


def saved_edge(node: Node, owner: int | None) -> Node | None:
    """The place of a saved value in the graph: an input's edge, or the node for its output."""
    if owner is None:
        return None
    return node if owner < 0 else node.edges[owner]


def check_not_released(node: Node, slot: str) -> None:
    """Raise if the node has released its saved values."""
    state = node.state
    if state is None:
        return
    if state.refusal is not None:
        raise state.refusal()
    if state.released is not None:
        raise saved_value_released(node, describe_slot(slot))


def restore_tensor(node: Node, slot: str, value: Any, edge: Node | None) -> Any:
    """A saved value as a Tensor; a packed one is unpacked by its hook."""
    if type(value) is np.ndarray:
        check_unwritten(node, slot, value, "reading a saved tensor")
        return tensor_of_saved(value, edge)
    if isinstance(value, Tensor):  # of a derivative inside another transform
        return value
    if not hasattr(value, "restored"):
        raise RuntimeError(
            f"{describe_slot(slot)} of {naming.describe_node(node)} is not kept: backward"
            " computes it again"
        )
    return tensor_of_saved(value.restored(node, slot), edge)


class SavedTensor:
    """A value saved by a node, as ``node._raw_saved_self``.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), wengert.tensor)
    >>> y.grad_fn._raw_saved_self.data
    [1.0, 2.0]
    """

    def __init__(self, node: Node, slot: str, index: int | None = None) -> None:
        self._node, self._slot, self._index = node, slot, index

    def _get(self) -> Any:
        value = getattr(self._node, self._slot)
        return value if self._index is None or value is None else value[self._index]

    def _set(self, value: Any) -> None:
        if self._index is None:
            setattr(self._node, self._slot, value)
            self._node.__class__ = unpacking_class(type(self._node))
        else:
            getattr(self._node, self._slot)[self._index] = value

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack the value now with `pack_hook`; `unpack_hook` restores it when it is needed.

        RuntimeError if hooks are already registered, or there is no value.
        """
        hooks = Hooks(*callables(pack_hook, unpack_hook))
        node, value = self._node, self._get()
        if value is None:
            if node.state is not None and node.state.released is not None:
                raise RuntimeError(
                    "Calling register_hooks on a saved tensor after it has been freed:"
                    f" {describe_slot(self._slot)} of {naming.describe_node(node)}, released by"
                    f" {naming.describe_call(node.state.released)}\n{more('graph-released')}"
                )
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden:"
                f" {naming.describe_node(node)} needs no {describe_slot(self._slot)}\n"
                + more("saved-tensor-hook")
            )
        if type(value) is not np.ndarray:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint:"
                f" only one pair of hooks is allowed at a time: {describe_slot(self._slot)} of"
                f" {naming.describe_node(node)}\n" + more("saved-tensor-hook")
            )
        check_unwritten(node, self._slot, value, "register_hooks()")
        site, mode.site = mode.site, None
        try:
            self._set(pack_array(node, value, wrap(value), hooks))
        finally:
            mode.site = site

    def unpack(self) -> Tensor | None:
        """The value as a Tensor; None where the node needs none."""
        if self._index is None:
            result: Tensor | None = read_saved(self._node, self._slot)
            return result
        return self._node.saved_tensors[self._index]  # type: ignore[attr-defined]

    @property
    def data(self) -> Any:
        """The value as stored: a detached Tensor, or the result of the pack hook."""
        check_not_released(self._node, self._slot)
        value = self._get()
        if type(value) is np.ndarray:
            return wrap(value)
        return value.value if type(value) is Packed else value

    @property
    def unpack_hook(self) -> Any:
        """The hook that restores the value, if there is one."""
        value = self._get()
        return value.unpack if type(value) is Packed else None


def _read(node: Node, slot: str, raw: bool) -> Any:
    return SavedTensor(node, slot) if raw else read_saved(node, slot)


SavedSlot.read = staticmethod(_read)
