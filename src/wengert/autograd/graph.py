"""Inspecting the graph and hooking into it: nodes, edges, hooks, saved tensors."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from wengert.autograd.edges import GradientEdge as GradientEdge
from wengert.autograd.edges import edge_of_node
from wengert.autograd.engine import Walk, innermost
from wengert.autograd.hooks import RemovableHandle
from wengert.autograd.saved.disk import save_to_disk as save_to_disk
from wengert.autograd.saved.hooks import (
    disable_saved_tensors_hooks as disable_saved_tensors_hooks,
)
from wengert.autograd.saved.hooks import save_on_cpu as save_on_cpu
from wengert.autograd.saved.hooks import saved_tensors_hooks as saved_tensors_hooks
from wengert.autograd.saved.mutation import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
)
from wengert.core import storage
from wengert.core.messages import more
from wengert.core.tensor import Node as Node
from wengert.core.tensor import Tensor, caller, getframe


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place in the graph where the gradient of a tensor is computed.

    The edge keeps the graph alive, not the tensor. RuntimeError if the tensor does not require
    grad.

    >>> import wengert
    >>> from wengert.autograd.graph import get_gradient_edge
    >>> x = wengert.ones(2, requires_grad=True)
    >>> get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require"
            f" gradients: got a tensor of shape {list(tensor.shape)} that nothing recorded\n"
            + more("no-graph")
        )
    return edge_of_node(_node(tensor))


def _node(tensor: Tensor) -> Node:
    node = tensor._edge if tensor.requires_grad else None
    if node is None:
        raise AssertionError(
            "Expected gradient function to be set: a tensor of shape"
            f" {list(tensor.shape)} does not require grad\n{more('hook-without-graph')}"
        )
    return node


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell the library that the memory of tensors was written behind its back.

    A backward that needs the old values then raises an error that names the line of this call.

    >>> import wengert
    >>> x = wengert.zeros(2)
    >>> x.numpy()[0] = 1.0
    >>> wengert.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, (Tensor, Iterable)):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    written = [tensor] if isinstance(tensor, Tensor) else list(tensor)
    for item in written:
        if not isinstance(item, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor, not"
                f" {type(item).__name__}"
            )
    for item in written:
        storage.stamp(item._array, "increment_version", *caller(getframe(1)))


class _Handles(RemovableHandle):
    """The handle of a hook on several tensors."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        super().__init__(None)
        self._handles = handles

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        for handle in self._handles:
            handle.remove()


class _Arrived:
    """The gradients of one walk that have reached a hook on several tensors so far."""

    def __init__(self, walk: Walk, nodes: list[weakref.ref[Node]]) -> None:
        self.grads: list[Any] = [None] * len(nodes)
        self.missing = sum(ref() in walk.pending for ref in nodes)


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: str = "all",
) -> RemovableHandle:
    """Call `fn` once per backward when the gradients of several tensors have been computed.

    With ``mode="all"`` it gets a list of them when the last has arrived, None for tensors that
    this backward does not reach. With ``mode="any"`` it gets the first one.

    >>> import wengert
    >>> from wengert.autograd.graph import register_multi_grad_hook
    >>> a, b = (wengert.ones(2, requires_grad=True) for _ in range(2))
    >>> handle = register_multi_grad_hook([a, b], lambda grads: print(grads))
    >>> (a * 3).sum().backward()
    [tensor([3., 3.]), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    listened = [t for t in tensors if mode == "all" or t.requires_grad]
    # Weak, since the nodes hold the hook.
    nodes = [weakref.ref(_node(t)) for t in listened]
    key = object()

    def arrive(k: int, g: Tensor | None) -> None:
        walk = innermost.walk
        assert walk is not None
        arrivals = walk.notes.get(key)
        if arrivals is None:
            arrivals = walk.notes[key] = _Arrived(walk, nodes)
            if mode == "any":
                fn(g)  # type: ignore[arg-type]
        arrivals.grads[k] = g
        arrivals.missing -= 1
        if mode == "all" and not arrivals.missing:
            fn(arrivals.grads)  # type: ignore[arg-type]

    return _Handles([t.register_hook(partial(arrive, k)) for k, t in enumerate(listened)])


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted, without effect: there are no streams.

    >>> import wengert
    >>> wengert.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")
