"""The saved values of one node, as data: names, values, bytes, owners."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from wengert.autograd import naming
from wengert.autograd.custom.function import FunctionNode
from wengert.autograd.saved.packing import Packed
from wengert.core import dtypes
from wengert.core.signatures import saved_name
from wengert.core.size import Size
from wengert.core.sparse import stored_array
from wengert.core.storage import owner
from wengert.core.tensor import Node, Tensor, wrap


@dataclass(frozen=True, slots=True)
class SavedValue:
    """One value that a node saves for its derivative.

    Attributes:
        name: as in ``node._saved_<name>``.
        value: a detached Tensor of the same memory, or the argument of the operation; None
            for what is packed (``node._saved_<name>`` unpacks it).
        of: whose it is: ``"input 0"``, ``"output"``, ``"intermediate"`` or ``"argument"``.
        packed: whether a hook, a file or a checkpoint has it.
        shape: of a tensor, if it is known.
        dtype: of a tensor, if it is known.
        nbytes: of a tensor's elements, packed or not; 0 for an argument.
        storage: the address of the memory that the tensor is in, as in
            ``tensor.untyped_storage().data_ptr()``; two values of one storage are kept once.
    """

    name: str
    value: Any
    of: str
    packed: bool = False
    shape: Size | None = None
    dtype: dtypes.dtype | None = None
    nbytes: int = 0
    storage: int | None = None


class SavedValues(list[SavedValue]):
    """The saved values of a node.

    Attributes:
        node: its operation and its line.
        released: the call and the line that released it, or None. Then the tensors are gone,
            and only arguments are left.

    >>> import wengert
    >>> x = wengert.ones(3, requires_grad=True)
    >>> values = wengert.graph.saved((x * x).grad_fn)
    >>> len(values), values.nbytes, values.released
    (2, 12, None)
    """

    def __init__(self, node: str, released: str | None, values: Iterable[SavedValue]) -> None:
        super().__init__(values)
        self.node, self.released = node, released

    @property
    def nbytes(self) -> int:
        """Bytes of the elements of all tensors; of several in one storage the largest counts."""
        sizes: dict[int, int] = {}
        for k, v in enumerate(self):
            key = -k - 1 if v.storage is None else v.storage
            sizes[key] = max(sizes.get(key, 0), v.nbytes)
        return sum(sizes.values())


def saved(node: Node) -> SavedValues:
    """Return the values a node saves for its derivative, in the order its rules name them.

    Nothing is unpacked or read back. For a released node it says which call released it.

    >>> import wengert
    >>> x = wengert.tensor([[1.0, 2.0]], requires_grad=True)
    >>> y = x.softmax(1)
    >>> for value in wengert.graph.saved(y.grad_fn):
    ...     print(value.name, value.of, value.value)
    result output tensor([[0.2689, 0.7311]])
    dim argument 1
    >>> y.sum().backward()
    >>> wengert.graph.saved(y.grad_fn).released.split()[0]
    'backward()'
    """
    if not isinstance(node, Node):
        raise TypeError(f"saved(): argument 'node' must be a Node, not {type(node).__name__}")
    call = None if node.state is None else node.state.released
    released = None if call is None else naming.describe_call(call)
    return SavedValues(naming.describe_node(node), released, values_of(node))


def values_of(node: Node) -> list[SavedValue]:
    """The values of `saved`."""
    values = [_described(value, name, of) for name, of, value in kept_by(node)]
    return [v for v in values if v is not None]


def kept_by(node: Node) -> list[tuple[str, str, Any]]:
    """The names of what a node keeps, whose it is, and the values as they are kept."""
    if isinstance(node, FunctionNode):
        return _of_function(node)
    slots = _slots(getattr(node, "op", None))
    return [(name, of, getattr(node, slot)) for slot, name, of in slots]


@cache
def _slots(op: Any) -> list[tuple[str, str, str]]:
    """The slots of an operation's nodes, the names of what is in them, and whose it is."""
    if op is None:
        return []
    slots = []
    for name in op.keeps:
        of = "argument"
        if name in op.inputs:
            of = f"input {op.inputs.index(name)}"
        elif name == "out":
            of = "output"
        elif name in op.aux:
            of = "intermediate"
        slots.append((f"s_{name}", saved_name(op.inputs, f"s_{name}"), of))
    return slots


def _of_function(node: FunctionNode) -> list[tuple[str, str, Any]]:
    if type(node.s_saved) is not list:  # released, or with a checkpoint
        return [("tensors", "intermediate", node.s_saved)]
    values = []
    for k, (value, (kind, index)) in enumerate(zip(node.s_saved, node.kinds, strict=True)):
        position = node.arguments[index][0] if kind == "input" and index >= 0 else None
        of = f"input {position}" if position is not None else kind
        of = {"inner": "intermediate", "input": "input"}.get(of, of)
        values.append((f"tensors[{k}]", of, value))
    return values


def _described(value: Any, name: str, of: str) -> SavedValue | None:
    """A saved value; None where there is none."""
    if of == "argument":
        return SavedValue(name, value, of)
    if value is None:
        return None
    if isinstance(value, Tensor):  # of a derivative inside another transform
        value = stored_array(value)
    if isinstance(value, np.ndarray):
        address = owner(value).__array_interface__["data"][0]
        shape, dtype = Size(value.shape), dtypes.of_numpy[value.dtype]
        return SavedValue(name, wrap(value), of, False, shape, dtype, value.nbytes, address)
    size = size_of_packed(value)
    if size is None:
        return SavedValue(name, None, of, packed=True)
    dtype = dtypes.of_numpy[value.dtype]
    return SavedValue(name, None, of, True, Size(value.shape), dtype, size)


def size_of_packed(value: Any) -> int | None:
    """Bytes of the elements of what was packed, if that is known."""
    if not isinstance(value, Packed):
        return None
    return int(np.prod(value.shape, dtype=np.int64)) * int(value.dtype.itemsize)
