"""Tensors whose values are computed when somebody asks for them.

An operation inside a compiled function that goes the recorded way hands out a `Deferred`. Its
shape and dtype are those of the record. Whatever else is read, by users or by the library, reads
`_array` or `_edge`: that *settles* the run it belongs to, and makes an ordinary Tensor of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.core.device import cpu
from wengert.core.dtypes import of_numpy
from wengert.core.overriding import disabled_torch_function_impl
from wengert.core.tensor import Tensor, tensors

if TYPE_CHECKING:
    from wengert.replay.walks import Walks


class Outline(NamedTuple):
    """What the record says of a value."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    requires_grad: bool

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def flags(self) -> Outline:
        """Itself: whether it is contiguous is all that is known."""
        return self

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements are dense, in the order of the dimensions."""
        return _is_dense(self.shape, self.strides, self.dtype.itemsize)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def transpose(self, order: Sequence[int]) -> Outline:
        """With the dimensions in another order."""
        shape, strides = ([of[d] for d in order] for of in (self.shape, self.strides))
        return self._replace(shape=tuple(shape), strides=tuple(strides))

    def text(self) -> str:
        """As in ``float32[32, 10]``."""
        return f"{of_numpy[self.dtype].name}{list(self.shape)}"


@lru_cache(1024)
def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    step = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != step:
            return not prod(shape)
        step *= n
    return True


# Where a deferred tensor's value will come from: the run, the place, what the record says of it,
# and the tensor that a view shows, which lives as long. The place is ~place of a value that has
# become a leaf, an input of the run from there on. A plain tuple: one is made at every call.
Pending = tuple["Walks", int, Outline, Any]


def _settled(name: str) -> Any:
    """A slot of Tensor that is filled when the run is settled."""
    slot = Tensor.__dict__[name]

    def read(self: Deferred) -> Any:
        settle(self)
        return slot.__get__(self, Tensor)

    def write(self: Deferred, value: Any) -> None:
        settle(self)
        slot.__set__(self, value)

    return property(read, write)


def has_memory(x: Any) -> bool:
    """Whether an object is an ordinary tensor whose elements are there."""
    return type(x) is not Deferred and type(x) in tensors and type(x._array) is np.ndarray


def settle(tensor: Deferred) -> None:
    """Compute the run that a tensor belongs to, which makes a Tensor of it."""
    pending = _ARRAY.__get__(tensor)
    if type(pending) is tuple:
        pending[0].settle()


def _outline(name: str, read: Any) -> Any:
    """A property that the record knows."""
    ordinary = getattr(Tensor, name)

    def get(self: Deferred) -> Any:
        pending = _ARRAY.__get__(self)
        return read(pending[2]) if type(pending) is tuple else ordinary.__get__(self)

    def put(self: Deferred, value: Any) -> None:
        settle(self)
        ordinary.__set__(self, value)

    return property(get, put)


class _EqualToTensor(type):
    """What makes a class equal to Tensor for whoever compares classes, or looks them up."""

    def __eq__(cls, other: object) -> bool:
        return other is Tensor or other is cls

    def __hash__(cls) -> int:
        return _HASH


_HASH = hash(Tensor)


class Deferred(Tensor, metaclass=_EqualToTensor):
    """A value of a compiled function that nobody has asked for yet."""

    __slots__ = ()

    __torch_function__ = disabled_torch_function_impl  # type: ignore[assignment]

    # In the slot of `_array`, which is empty until then: nothing has to be made for it.
    _pending: Pending = Tensor.__dict__["_array"]

    _array = _settled("_array")
    _cut = _settled("_cut")
    _root = _settled("_root")
    _views = _settled("_views")
    _block = _settled("_block")

    @property
    def __class__(self) -> type:
        pending = self._pending
        store = pending[0].stores.get(pending[1]) if type(pending) is tuple else None
        return Tensor if store is None else store.kind_of(self)

    @__class__.setter
    def __class__(self, kind: type) -> None:
        settle(self)
        set_class(self, kind)

    device = _outline("device", lambda o: cpu)
    requires_grad = _outline("requires_grad", lambda o: o.requires_grad)

    @property
    def _edge(self) -> Any:
        pending = self._pending
        if type(pending) is tuple:
            if not pending[2].requires_grad:
                return None
            if pending[1] < 0:  # a leaf
                return _EDGE.__get__(self, Tensor)
            pending[0].settle()
        return _EDGE.__get__(self, Tensor)

    @_edge.setter
    def _edge(self, value: Any) -> None:
        settle(self)
        _EDGE.__set__(self, value)

    @property
    def _outline(self) -> Any:  # type: ignore[override]
        pending = self._pending
        return pending[2] if type(pending) is tuple else pending

    def __reduce_ex__(self, protocol: Any) -> Any:
        settle(self)
        return type(self).__reduce_ex__(self, protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        settle(self)
        return type(self).__deepcopy__(self, memo)


# What messages and prints say of its class is what they say in eager mode.
Deferred.__name__, Deferred.__qualname__ = Tensor.__name__, Tensor.__qualname__
Deferred.__module__ = Tensor.__module__

_EDGE = Tensor.__dict__["_edge"]
_ARRAY = Tensor.__dict__["_array"]
_CUT = Tensor.__dict__["_cut"]
set_class = object.__dict__["__class__"].__set__


def filled(tensor: Tensor, array: np.ndarray, edge: Any, cut: Any) -> None:
    """Make an ordinary Tensor of a deferred one."""
    _EDGE.__set__(tensor, edge)
    _CUT.__set__(tensor, cut)
    _ARRAY.__set__(tensor, array)
    set_class(tensor, Tensor)


def become_leaf(tensor: Any, pending: Pending, edge: Any) -> None:
    """Let a deferred tensor be a leaf."""
    tensor._pending = pending
    _EDGE.__set__(tensor, edge)


def cut_before(tensor: Tensor) -> Any:
    """Where an input of a run left a graph, be its memory to be written to or not."""
    return _CUT.__get__(tensor) if _EDGE.__get__(tensor) is None else None


def restored(tensor: Tensor, array: np.ndarray, kind: type = Tensor) -> None:
    """Make a tensor of its class again of one whose memory was to be written to."""
    _ARRAY.__set__(tensor, array)
    set_class(tensor, kind)
