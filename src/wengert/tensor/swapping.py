"""Two tensors that exchange what they are: `utils.swap_tensors`."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from wengert.core.cut_log import drops
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Leaf, Node, Tensor, leaf_of

_POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can"
    " happen when you try to run backward on a tensor that was swapped: the graph was recorded"
    " before. Convert a module (Module.to, .half(), ...) before its forward pass, or after the"
    " backward pass"
)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all that two tensors are: values, shape, dtype, class, attributes, `.grad`, hooks.

    Each stays the same object: whoever holds `t1` has what `t2` was. A backward pass through a
    graph that was recorded of a leaf before raises RuntimeError when it arrives there.

    Raises:
        RuntimeError: for a tensor that has views or that is referred to weakly, and for classes
            with different slots.

    >>> import wengert
    >>> a, b = wengert.ones(2), wengert.nn.Parameter(wengert.zeros(3))
    >>> wengert.utils.swap_tensors(a, b)
    >>> a, b
    (Parameter containing:
    tensor([0., 0., 0.], requires_grad=True), tensor([1., 1.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"swap_tensors(): {name} must be a Tensor, not {type(tensor).__name__}")
        _check_alone(name, tensor)
    slots = [set(copyreg._slotnames(type(t))) for t in (t1, t2)]  # type: ignore[attr-defined]
    if slots[0] != slots[1] or isinstance(t1, SparseTensor) is not isinstance(t2, SparseTensor):
        raise RuntimeError(
            "Cannot swap t1 and t2 if they have different slots: t1 is a"
            f" {type(t1).__name__}, t2 a {type(t2).__name__}"
        )
    if t1 is t2:
        return
    first, second = type(t1), type(t2)
    state = [_taken(t, slots[0]) for t in (t1, t2)]
    t1.__class__, t2.__class__ = second, first
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for tensor, other, values in ((t1, t2, state[1]), (t2, t1, state[0])):
        for slot, value in values.items():
            setattr(tensor, slot, value)
        _rewire(tensor, other)


def _taken(tensor: Tensor, slots: set[str]) -> dict[str, Any]:
    """What the slots hold; they are empty afterwards."""
    values = {}
    for slot in slots:
        if hasattr(tensor, slot):
            values[slot] = getattr(tensor, slot)
            delattr(tensor, slot)
    return values


def _rewire(tensor: Tensor, former: Tensor) -> None:
    """Have those who know a tensor's former owner by weak references know the present one."""
    root = getattr(tensor, "_root", None)
    if root is not None:
        root._views = [weakref.ref(tensor) if v() is former else v for v in root._views]
    edge = tensor._edge
    if isinstance(edge, Leaf):
        leaf = leaf_of(tensor)
        leaf.state, edge.state = edge.state, None
        leaf.open = edge.open
        tensor._edge = leaf
        edge.register_prehook(_refuse)
    elif isinstance(edge, Node) and edge.state is not None and edge.state.retain is not None:
        edge.state.retain = weakref.ref(tensor)


def _refuse(grads: Any) -> None:
    raise RuntimeError(_POISONED)


def _check_alone(name: str, tensor: Tensor) -> None:
    if any(view() is not None for view in getattr(tensor, "_views", ())):
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node, but it has"
            " views, which show its memory: make sure you are not holding references to the"
            " tensor in other places"
        )
    known = _own_references(tensor)
    if any(all(r is not own for own in known) for r in weakref.getweakrefs(tensor)):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")


def _own_references(tensor: Tensor) -> list[Any]:
    """The weak references that the library itself may have to a tensor."""
    edge, root = tensor._edge, getattr(tensor, "_root", None)
    own: list[Any] = [drop.owner for drop in drops]
    if isinstance(edge, Leaf):
        own.append(edge.tensor)
    if edge is not None and edge.state is not None:
        own.append(edge.state.retain)
    return own if root is None else own + root._views


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `load_state_dict` swaps a tensor of a module with, to load `other` into it.

    A class of tensors may define it anew; it counts where
    ``torch.__future__.set_swap_module_params_on_conversion`` is on.

    Args:
        other: the tensor of the state dictionary.
        assign: whether `other` takes the place of this tensor instead of being copied.

    >>> import wengert
    >>> wengert.zeros(2).module_load(wengert.ones(2))
    tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()


def bind() -> None:
    """Give Tensor its method."""
    define: Any = Tensor
    define.module_load = module_load
