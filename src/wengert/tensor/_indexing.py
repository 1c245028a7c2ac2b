"""Indexing: `x[key]` and `x[key] = v`.

A key is parsed as in PyTorch: first integers, slices, None and Ellipsis, which give a view of
the tensor; then the index tensors and masks, applied to that view. (NumPy treats an integer
next to an array as an array, which changes the order of the result's dimensions.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from wengert.core import storage
from wengert.core.deferring import picking, putting
from wengert.core.dtypes import of_numpy, scalar_array
from wengert.core.inference import check_written
from wengert.core.messages import warn
from wengert.core.preparations import elements_read
from wengert.core.tensor import (
    Tensor,
    Tracer,
    caller,
    cut_from,
    getframe,
    inferences,
    mode,
    root_of,
    wrap,
)
from wengert.meta.tensors import MetaTensor
from wengert.ops.batched_keys import picked
from wengert.ops.broadcasting import check_expandable, expand
from wengert.ops.casting import convert
from wengert.ops.expansion import flip
from wengert.ops.gathering import elements
from wengert.ops.index_writes import check_put_dtype, index_array, index_item, written
from wengert.ops.masking import where
from wengert.ops.numbers import Number
from wengert.ops.operands import innermost, traced
from wengert.ops.outputs import check_memory
from wengert.ops.splitting import select, unbind
from wengert.ops.subscript import basic, index, index_written, write_at
from wengert.tensor import _shape
from wengert.tensor._inplace import (
    assign,
    check_writable,
    overwrite,
    write,
)

Shape = tuple[int, ...]

_NUMBERS = (float, *Number, np.generic)  # most are floats
Items = tuple[Any, ...]

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
_SIMPLE = frozenset((int, slice, type(None), EllipsisType))


def getitem(self: Tensor, key: Any) -> Tensor:
    """Return the part of the tensor selected by a key: a view, or a copy if it has index tensors.

    >>> import wengert
    >>> x = wengert.tensor([[1, 2], [3, 4]])
    >>> x[0, 1:], x[wengert.tensor([1, 1]), 0]
    (tensor([2]), tensor([3, 3]))
    """
    kind, shape = type(key), self._outline.shape
    if kind is int:
        if not shape or not -shape[0] <= key < shape[0]:
            _check_int(key, 0, shape)
        return select(self, 0, key)
    if kind is slice:
        if key.step is not None or not shape:
            _check_slice(key, shape)
        return basic(self, (key,))
    if kind is tuple and _SIMPLE.issuperset(map(type, key)):
        return basic(self, _parse_basic(key, shape))
    if key is None or key is Ellipsis:
        return basic(self, _parse_basic((key,), shape))
    found = picking[0](self, key) if picking else None
    return _picked(self, key, shape) if found is None else found


def _picked(self: Tensor, key: Any, shape: Shape) -> Tensor:
    """The part of the tensor selected by a key that may have index tensors."""
    if (whole := _plain_picks(key, shape)) is not None:
        return index(self, whole)
    view, picks = parse(key, shape)
    if view is not None or picks is None:
        self = basic(self, view or (...,))
    if picks is None:
        return self
    return picked(self, picks) if traced(picks) else index(self, picks)


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Write a number or a broadcastable tensor to the part of the tensor selected by a key.

    Gradients flow to the old values and to the written ones.

    >>> import wengert
    >>> x = wengert.zeros(2, 2)
    >>> x[:, 0] = wengert.tensor([1.0, 2.0])
    >>> x
    tensor([[1., 0.],
            [2., 0.]])
    """
    if putting and (found := putting[0](self, key, value)) is not None:
        _become(self, *found)
        return
    if type(self) is not Tensor or self._edge is not None or not _set_plain(self, key, value):
        _set_any(self, key, value)


def _set_any(self: Tensor, key: Any, value: Any) -> None:
    """As `setitem`, with any key and any value, recorded or not."""
    value = _checked_value(self, value)
    if key is False:
        return
    key = ... if key is True else key
    if inferences:
        check_written((self,), "__setitem__")
    if _is_unseen(key) and key._outline.dtype == bool and not value._outline.ndim:
        _set_masked(self, key, value)
        return
    view, picks = parse(key, self._outline.shape)
    if picks is not None:
        value = _in_dtype_of(self, picks, value)
    if isinstance(self, Tracer) or isinstance(value, Tracer) or (picks and traced(picks)):
        _set_traced(self, view, picks, value)
        return
    if _recorded(self, value):
        _set_recorded(self, view, picks, value)
        return
    region = self._array if view is None else self._array[view]
    check_memory(region, "__setitem__", picks is not None)
    if picks is not None:
        write_at(region, value._array, picks)
    else:
        assign(region, value._array)
    storage.stamp(region, "__setitem__", *caller(getframe(1)))
    if self._edge is None:
        self._cut = cut_from((value,)) or self._cut


def _set_plain(self: Tensor, key: Any, value: Any) -> bool:
    """Write where nothing is recorded, by a key without index tensors; False if that is not so."""
    kind, array = type(value), self._array
    if kind is float or kind is int:
        source, cut = None, self._cut
    elif kind is Tensor and value._edge is None:
        source, cut = value._array, value._cut or self._cut
    else:
        return False
    if type(key) is not tuple:
        key = (key,)
    if inferences or not _SIMPLE.issuperset(map(type, key)) or _recorded(self, self):
        return False
    region = array[_parse_basic(key, array.shape)]
    if source is None:
        source = scalar_array(value, of_numpy[array.dtype], "__setitem__")
    elif source.shape and source.shape != region.shape:
        return False
    flags = region.flags
    if storage.guards or not (flags.c_contiguous and flags.writeable):
        check_memory(region, "__setitem__")
    if source.dtype is region.dtype:
        region[...] = source
    else:
        assign(region, source)
    code, lasti = caller(getframe(2))
    storage.stamp(region, "__setitem__", code, lasti)
    self._cut = cut
    return True


def _become(self: Tensor, deferred: Any, result: Tensor) -> None:
    """Let a tensor be the result of a write: of a compiled function, once it is computed."""
    if not deferred.rebound(self, result):
        check_writable(self, "__setitem__")
        write(self, result, "__setitem__")
        deferred.written(self, result)


def _is_unseen(key: Any) -> bool:
    """Whether a key has no elements to look at: on the meta device, or in a recorded program."""
    return isinstance(key, MetaTensor) or (isinstance(key, Tracer) and key.level.composite)


def _set_masked(self: Tensor, mask: Tensor, value: Tensor) -> None:
    """Write one element wherever a mask says so, which nobody can look at."""
    if isinstance(mask, Tracer):
        level = innermost((self, value, mask))
        if level.composite and not level.owns(self):
            level.take(self)
        check_writable(self, "__setitem__")
    _check_mask(tuple(mask.shape), tuple(self.shape), 0)
    value = convert(value, of_numpy[self._outline.dtype])
    write(self, where(_fitted(mask, self), value, self), "__setitem__")


def _fitted(mask: Tensor, target: Tensor) -> Tensor:
    """A mask of the first dimensions, with the others behind them."""
    return mask.reshape(*mask.shape, *(1,) * (target.ndim - mask.ndim))


def _recorded(target: Tensor, value: Tensor) -> bool:
    """Whether a write is recorded; raises if it cannot be."""
    if mode.site is None:
        return False
    root = root_of(target)
    return not (target._edge is None and value._edge is None and root._edge is None)


def _set_recorded(self: Tensor, view: Items | None, picks: Items | None, value: Tensor) -> None:
    region = self if view is None else basic(self, view)
    check_writable(region, "__setitem__")
    if picks is not None:
        write(region, index_written(region, value, picks, False), "__setitem__")
    elif not _same_memory(region, value):
        overwrite(region, value, "__setitem__")


def _set_traced(self: Tensor, view: Items | None, picks: Items | None, value: Tensor) -> None:
    """A write that involves tracers."""
    level = innermost((self, value, *(picks or ())))
    if level.composite and not level.owns(self):
        level.take(self)
    region = self if view is None else basic(self, view)
    check_writable(region, "__setitem__")
    if picks is None:
        check_expandable(tuple(value.shape), tuple(region.shape))
        new = expand(convert(value, of_numpy[self._outline.dtype]), region.shape)
    elif traced(picks):
        new = written(region, value, picks, False)
    else:
        new = index_written(region, value, picks, False)
    write(region, new, "__setitem__")


def _same_memory(region: Tensor, value: Tensor) -> bool:
    """Whether the value is the part itself, as at the end of ``x[i] += v``."""
    a, b = region._array.__array_interface__, value._array.__array_interface__
    strides_agree = region._array.strides == value._array.strides
    same = (
        a["data"] == b["data"] and strides_agree and region._outline.shape == value._outline.shape
    )
    return bool(same) and region._edge is not None and (
        root_of(value) is root_of(region)
    )  # fmt: skip


def _checked_value(target: Tensor, value: Any) -> Tensor:
    """The value as a tensor without leading dimensions of length 1, in the dtype if a number."""
    array = target._array
    if type(value) is float or type(value) is int:
        return wrap(scalar_array(value, of_numpy[array.dtype], "__setitem__"))
    if not isinstance(value, Tensor):
        if not isinstance(value, _NUMBERS):
            kind = of_numpy[array.dtype].short
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{kind}Tensor")
        number = value.item() if isinstance(value, np.generic) else value
        return wrap(scalar_array(number, of_numpy[array.dtype], "__setitem__"))
    original: Tensor = value
    shape = original._outline.shape
    if not shape or shape[0] != 1:
        return original
    lead = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return basic(original, (0,) * lead + (...,))


def _in_dtype_of(self: Tensor, picks: Items, value: Tensor) -> Tensor:
    """The value if it has the tensor's dtype; a 0-d one that fills a mask is converted."""
    if not value._outline.ndim and len(picks) == 1 and picks[0].dtype == np.bool_:
        return convert(value, of_numpy[self._outline.dtype])
    check_put_dtype(self._array, value._array)
    return value


def parse(key: Any, shape: Shape) -> tuple[Items | None, Items | None]:
    """The basic part of a key (None if it selects everything) and the index arrays, or None.

    The index arrays are for the view that the basic part gives, one item for each of its
    dimensions up to the last array: an array or a full slice.
    """
    if type(key) in _SIMPLE:
        return _parse_basic((key,), shape), None
    if type(key) is tuple and _SIMPLE.issuperset(map(type, key)):
        return _parse_basic(key, shape), None
    if (whole := _plain_picks(key, shape)) is not None:
        return None, whole
    items = _items(key)
    if _SIMPLE.issuperset(map(type, items)):
        return _parse_basic(items, shape), None
    return _Parser(items, shape).result()


def _plain_picks(key: Any, shape: Shape) -> Items | None:
    """What `parse` makes of a mask, or of tensors of int64 and full slices; None for other keys."""
    if type(key) is Tensor and key._array.dtype is _BOOL:
        mask = key._array
        return (mask.copy(),) if mask.ndim and mask.shape == shape[: mask.ndim] else None
    items = key if type(key) is tuple else (key,)
    if len(items) > len(shape):
        return None
    picks: list[Any] = []
    last = 0
    for item in items:
        if type(item) is Tensor and item._array.dtype is _INT64 and item._array.ndim:
            picks.append(item._array.copy())
            last = len(picks)
        elif type(item) is slice and item.start is item.stop is item.step is None:
            picks.append(item)
        else:
            return None
    return tuple(picks[:last]) or None


def _items(key: Any) -> Items:
    """The key as a tuple. As in PyTorch, a short list of more than numbers counts as one."""
    if type(key) is tuple:
        return key
    if isinstance(key, list) and len(key) < 32 and any(_nested(k) for k in key):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated: x[[a, b]] is"
            " taken as x[a, b]; write x[tuple(seq)], or x[torch.tensor(seq)] for one index"
        )
        return tuple(key)
    return (key,)


def _nested(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, (slice, Sequence)):
        return True
    return isinstance(item, Tensor) or (isinstance(item, np.ndarray) and item.ndim > 0)


def _parse_basic(items: Items, shape: Shape) -> Items:
    """Check a key without index arrays, and append an Ellipsis so that it gives a view."""
    ellipses = items.count(Ellipsis)
    if ellipses > 1:  # the first one counts
        first = items.index(Ellipsis) + 1
        items = (*items[:first], *[k for k in items[first:] if k is not Ellipsis])
    elif not ellipses:
        items = (*items, Ellipsis)
    axis, named = 0, len(items) - items.count(None) - 1
    if named > len(shape):
        raise _too_many(shape, named)
    for item in items:
        if type(item) is int:
            if not -shape[axis] <= item < shape[axis]:
                _check_int(item, axis, shape)
            axis += 1
        elif item is Ellipsis:
            axis += len(shape) - named
        elif item is not None:
            if item.step is not None:
                _check_slice(item, shape)
            axis += 1
    return items


def _check_int(i: int, axis: int, shape: Shape) -> None:
    if not shape:
        raise _too_many(shape, 1)
    n = shape[axis]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {axis} with size {n}")


def _check_slice(s: slice, shape: Shape) -> None:
    if not shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if s.step is not None and s.step <= 0:
        if s.step == 0:
            raise ValueError("slice step cannot be zero")
        raise ValueError(f"step must be greater than zero, got slice step {s.step}")


def _too_many(shape: Shape, named: int) -> IndexError:
    if not shape:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a Python number"
        )
    return IndexError(f"too many indices for tensor of dimension {len(shape)} (got {named})")


class _Parser:
    """Parses a key with index arrays item by item."""

    def __init__(self, items: Items, shape: Shape) -> None:
        self.shape = shape
        self.items = [_item(k) for k in items]
        self.view: list[Any] = []
        self.picks: list[Any] = []
        self.axis = 0
        self.named = sum(_width(k) for k in self.items)
        if self.named > len(shape):
            raise _too_many(shape, self.named)

    def result(self) -> tuple[Items | None, Items | None]:
        ellipsis_seen = False
        for item in self.items:
            if item is Ellipsis:
                skipped = 0 if ellipsis_seen else len(self.shape) - self.named
                self._keep([slice(None)] * skipped)
                ellipsis_seen = True
            elif item is None:
                self.view.append(None)
                self.picks.append(slice(None))
            elif isinstance(item, slice):
                _check_slice(item, self.shape)
                self._keep([item])
            elif isinstance(item, (np.ndarray, Tensor)):
                self._pick(item)
            else:
                _check_int(item, self.axis, self.shape)
                self.view.append(item)
                self.axis += 1
        while self.picks and isinstance(self.picks[-1], slice):
            self.picks.pop()
        plain = all(isinstance(v, slice) and v == slice(None) for v in self.view)
        return None if plain else (*self.view, ...), tuple(self.picks) or None

    def _keep(self, slices: list[slice]) -> None:
        self.view += slices
        self.picks += [slice(None)] * len(slices)
        self.axis += len(slices)

    def _pick(self, array: np.ndarray | Tensor) -> None:
        if (
            array.ndim == 0 and array.dtype == np.bool_
        ):  # True or False: a new dimension of length 1 or 0
            self.view.append(None)
            self.picks.append(array.reshape(1))
            return
        width = _width(array)
        if array.dtype == np.bool_:
            _check_mask(array.shape, self.shape, self.axis)
        self.view += [slice(None)] * width
        self.picks.append(array)
        self.axis += width


def _check_mask(mask: Shape, shape: Shape, axis: int) -> None:
    """Raise IndexError for a mask that is not of the shape of the dimensions from one on."""
    for d, n in enumerate(mask):
        if axis + d >= len(shape) or n != shape[axis + d]:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {d} does not match the shape of the"
                f" indexed tensor {list(shape)} at index {axis + d}"
            )


def _width(item: Any) -> int:
    """The number of the tensor's dimensions that an item consumes."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def _item(item: Any) -> Any:
    """An item as int, slice, None, Ellipsis, or a private array of int64 or bool."""
    kind = type(item)
    if kind in _SIMPLE:
        return item
    if kind is bool:
        return np.asarray(item)
    if isinstance(item, Tracer) and type(item._array) is not np.ndarray:
        return index_item(item)
    if isinstance(item, (Tensor, np.ndarray)):
        array = item._array if isinstance(item, Tensor) else item
        if array.ndim == 0 and array.dtype.kind in "iu" and array.dtype != np.uint8:
            return int(array)
        return index_array(array)
    if isinstance(item, (str, bytes)):
        raise TypeError(f"a tensor has no element {item!r}: an index is no {kind.__name__}")
    if isinstance(item, Sequence):
        return index_array(_array_of(item))
    try:
        return item.__index__()
    except (AttributeError, TypeError):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are"
            f" valid indices (got {kind.__name__})"
        ) from None


def _array_of(sequence: Sequence[Any]) -> np.ndarray:
    plain = [elements("__getitem__", x) if isinstance(x, Tensor) else x for x in sequence]
    array = np.asarray(plain)
    return array.astype(np.int64) if array.size == 0 or array.dtype.kind in "iu" else array


def _len(self: Tensor) -> int:
    if not self._outline.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._outline.shape[0]


def _iter(self: Tensor) -> Iterator[Tensor]:
    if not self._outline.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, Tensor) and not isinstance(element, Number):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a"
            f" {type(element)}."
        )
    other = elements_read(element) if isinstance(element, Tensor) else element
    return bool(np.any(elements_read(self) == other))


def _reversed(self: Tensor) -> Tensor:
    return flip(self, tuple(range(self._outline.ndim)))


def _delitem(self: Tensor, key: Any) -> None:
    raise TypeError("a tensor's elements cannot be deleted; x[keep] has those that are to stay")


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    define.__getitem__, define.__setitem__ = getitem, setitem
    define.__len__, define.__iter__, define.__contains__ = _len, _iter, _contains
    define.__reversed__, define.__delitem__ = _reversed, _delitem
    _shape.bind()
