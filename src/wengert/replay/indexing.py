"""Indexing of compiled functions: indices are operands, which are looked at when they come.

A mask whose elements are there counts as the places where it is true: how many these are is part
of what is on record. What is not dealt with here is computed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.preparations import preparation, read_of
from wengert.core.tensor import Tensor, mode, wrap
from wengert.ops.indexed import INDICES, basic_written, mask_written
from wengert.ops.masking import filling, masked_fill
from wengert.ops.op import REGISTRY
from wengert.ops.shape import clone
from wengert.ops.subscript import basic, broadcasts, index, index_written
from wengert.replay.deferred import Deferred
from wengert.replay.peeking import are_within
from wengert.replay.rebinding import Rebinding, Storing, rebinding
from wengert.replay.run import Run, current_run
from wengert.replay.state import active, asking

_INDEXED, _WRITTEN = REGISTRY["indexed"], REGISTRY["indexed_written"]
_NAMES = tuple(_INDEXED.signature.parameters)
_WRITTEN_NAMES = tuple(_WRITTEN.signature.parameters)
_WHOLE = slice(None)
_INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)
# Longer lists are not made tensors of at every call.
_LONGEST = 4096


class Parsed(NamedTuple):
    """A key: its basic part, or None, and what is picked of the view that this gives.

    Attributes:
        picks: full slices, and for the other dimensions the numbers of their indices.
        shape: that of the result.
    """

    view: tuple[Any, ...] | None
    picks: tuple[Any, ...]
    indices: tuple[Any, ...]
    shape: tuple[int, ...]

    def operands(self) -> tuple[Any, ...]:
        """The indices as arguments of operations."""
        return (*self.indices, *[None] * (len(INDICES) - len(self.indices)))


def picked(tensor: Any, key: Any) -> Any:
    """The elements at the indices of a key; None where they are picked as ever."""
    if not asking or active.busy or (run := current_run()) is None:
        return None
    # No name for the outline: it may be the array, which a second reference makes look shared.
    shape = tensor._outline.shape
    if not run.recording and type(tensor) is not Deferred and tensor._outline.dtype.kind in "biu":
        return None  # it is looked at next
    if type(key) in _INDICES and shape and _is_index(key):
        n = shape[0]
        if not are_within(key, -n, n):
            return None
        args = (tensor, key, None, None, None, _FIRST)
    else:
        parsed = _parsed(key, shape)
        if parsed is None or not parsed.picks:
            return None
        if parsed.view is not None:
            tensor = basic(tensor, parsed.view)
        args = (tensor, *parsed.operands(), parsed.picks)
    result = run.quickly(_INDEXED, args)
    return run.call(_INDEXED, _NAMES, _indexed, args, {}) if result is None else result


def _indexed(input: Any, *rest: Any) -> Any:
    """What eager mode does."""
    return index(input, _arrays(rest[-1], rest[:-1]))


def _arrays(picks: tuple[Any, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """Picks as eager mode has them."""
    return tuple([x if type(x) is slice else indices[x]._array.copy() for x in picks])


_INDICES, _FIRST = frozenset({Tensor, Deferred}), (0,)


def _is_index(x: Any) -> bool:
    """Whether a tensor is an index as it is."""
    outline = x._outline
    return outline.dtype is _INT64 and bool(outline.shape)


def put(tensor: Any, key: Any, value: Any) -> tuple[Rebinding, Any] | None:
    """What a tensor is to become by a write to a part, and how; None if it is written as ever."""
    if not asking or active.busy or (run := current_run()) is None:
        return None
    if type(key) in _NO_KEYS:
        return None
    if run.place_of(tensor) is None and run.place_of(value) is None and not _has_value(run, key):
        return None  # nothing of it is deferred
    deferred = rebinding(tensor, "copy" if key is ... else None, (value, *_items_of(key)))
    if not isinstance(deferred, Rebinding):
        return None
    if isinstance(deferred, Storing):
        same = value._outline.shape == tensor._outline.shape
        fits = same and value._outline.dtype == tensor._outline.dtype
        return (deferred, clone(value)) if fits else None
    new_of = _written_by(run, tensor, key, value)
    return None if new_of is None else (deferred, new_of())


_NO_KEYS = frozenset({bool, list, str, float})


def _has_value(run: Run, key: Any) -> bool:
    return any(isinstance(x, Tensor) and run.place_of(x) is not None for x in _items_of(key))


def _items_of(key: Any) -> tuple[Any, ...]:
    return key if type(key) is tuple else (key,)


def _written_by(run: Run, tensor: Any, key: Any, value: Any) -> Callable[[], Any] | None:
    """What gives the tensor with a value at a key; None if that is not dealt with here."""
    outline = tensor._outline
    if isinstance(value, Tensor):
        if value._outline.dtype != outline.dtype:
            return None
    elif type(value) not in (int, float, bool):
        return None
    recorded = mode.site is not None and (
        tensor.requires_grad or (isinstance(value, Tensor) and value.requires_grad)
    )
    if _is_mask(key):
        rank = key._outline.ndim
        if key._outline.shape != outline.shape[:rank]:
            return None
        if broadcasts(_without_ones(_shape_of(value)), outline.shape[rank:]):
            return lambda: _put_where(tensor, key, value, recorded)
    parsed = _parsed(key, outline.shape)
    if parsed is None or (recorded and parsed.view is not None and parsed.picks):
        return None
    if not broadcasts(_without_ones(_shape_of(value)), parsed.shape):
        return None
    return lambda: _put(run, tensor, parsed, _fitting(value, tensor))


def _put_where(tensor: Any, mask: Any, value: Any, recorded: bool) -> Any:
    """The tensor with a value where a mask is true."""
    fitted = mask.reshape(*mask.shape, *(1,) * (tensor.ndim - mask.ndim))
    if not recorded and not _shape_of(value):
        return masked_fill(tensor, fitted, value)
    return mask_written(tensor, _fitting(value, tensor), fitted)


def _put(run: Run, tensor: Any, parsed: Parsed, values: Any) -> Any:
    """The tensor with values at a key."""
    view, region = parsed.view, tensor
    if not parsed.picks:
        return basic_written(tensor, values, view or (...,))
    if view is not None:
        region = basic(tensor, view)

    args = (region, values, *parsed.operands(), parsed.picks)
    result = run.call(_WRITTEN, _WRITTEN_NAMES, _index_written, args, {})
    return result if view is None else basic_written(tensor, result, view)


def _index_written(input: Any, values: Any, *rest: Any) -> Any:
    """What eager mode does."""
    return index_written(input, values, _arrays(rest[-1], rest[:-1]), False)


def _is_mask(key: Any) -> bool:
    return isinstance(key, Tensor) and key._outline.dtype == _BOOL and key._outline.ndim > 0


def _shape_of(value: Any) -> tuple[int, ...]:
    return value._outline.shape if isinstance(value, Tensor) else ()


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without leading dimensions of length 1, as values are assigned."""
    return shape[next((d for d, n in enumerate(shape) if n != 1), len(shape)) :]


def _fitting(value: Any, tensor: Any) -> Any:
    """A value as a tensor of another's dtype, without leading dimensions of length 1."""
    if not isinstance(value, Tensor):
        return filling("__setitem__", value, tensor)
    shape = _shape_of(value)
    lead = len(shape) - len(_without_ones(shape))
    return basic(value, (0,) * lead + (...,)) if lead else value


def _parsed(key: Any, shape: tuple[int, ...]) -> Parsed | None:
    """A key of slices, numbers and indices that are within bounds; None for others."""
    items = _items(key, len(shape))
    if items is None:
        return None
    form = shape, tuple(map(_form_of, items))
    if form not in _parses:
        if len(_parses) >= _MOST_FORMS:
            _parses.clear()
        _parses[form] = _parse(items, shape)
    parse = _parses[form]
    if parse is None:
        return None
    indices = [item for item in items if type(item) in _INDICES]
    for one, n in zip(indices, parse.lengths, strict=True):
        if not are_within(one, -n, n):
            return None
    return Parsed(parse.view, parse.picks, tuple(indices), parse.shape)


class _Parse(NamedTuple):
    """What is known of keys of a form, and the lengths of the dimensions that are indexed."""

    view: tuple[Any, ...] | None
    picks: tuple[Any, ...]
    lengths: tuple[int, ...]
    shape: tuple[int, ...]


_parses: dict[Any, _Parse | None] = {}
_MOST_FORMS = 4096


def _form_of(item: Any) -> Any:
    """What an item is to `_parse`: of an index its shape alone matters."""
    if type(item) in _INDICES:
        return Tensor, item._outline.shape
    return (item.start, item.stop, item.step) if type(item) is slice else item


def _parse(items: list[Any], shape: tuple[int, ...]) -> _Parse | None:
    view, picks, shapes, lengths, sizes = [list[Any]() for _ in range(5)]
    axis = 0
    for item in items:
        if item is None:
            view.append(None)
            picks.append(_WHOLE)
            sizes.append(1)
            continue
        n = shape[axis]
        axis += 1
        if type(item) is int:
            if not -n <= item < n:
                return None
            view.append(item)
        elif type(item) is slice:
            if item.step is not None and item.step <= 0:
                return None
            view.append(item)
            picks.append(_WHOLE)
            sizes.append(len(range(*item.indices(n))))
        else:
            view.append(_WHOLE)
            picks.append(len(shapes))
            sizes.append(n)
            shapes.append(item._outline.shape)
            lengths.append(n)
    if len(shapes) > len(INDICES):
        return None
    return _finished(view, picks, shapes, tuple(lengths), (*sizes, *shape[axis:]))


def _finished(
    view: list[Any], picks: list[Any], shapes: list[Any], lengths: tuple[int, ...],
    sizes: tuple[int, ...],
) -> _Parse | None:  # fmt: skip
    """The shape of the result, in which the dimensions of the indices are NumPy's."""
    while picks and picks[-1] is _WHOLE:
        picks.pop()
    plain = all(type(v) is slice and v == _WHOLE for v in view)
    of_view = None if plain else (*view, ...)
    if not shapes:
        return _Parse(of_view, (), (), sizes)
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    places = [k for k, item in enumerate(picks) if type(item) is int]
    lead = places[0] if places[-1] - places[0] == len(places) - 1 else 0
    others = [n for k, n in enumerate(sizes) if k not in places]
    return _Parse(of_view, tuple(picks), lengths, (*others[:lead], *common, *others[lead:]))


def _items(key: Any, rank: int) -> list[Any] | None:
    """The items of a key, one for each dimension that it names: indices as tensors of int64."""
    given = list(key) if type(key) is tuple else [key]
    items = list[Any]()
    for item in given:
        kind = type(item)
        if kind is int or kind is slice or item is None or kind is EllipsisType:
            items.append(item)
        elif kind in (list, range):
            found = _listed(tuple(item)) if len(item) < _LONGEST else None
            if found is None or (kind is list and len(given) == 1 and _nests(item)):
                return None
            items.append(found)
        elif kind is Tensor or kind is Deferred:
            outline = item._outline
            if outline.dtype == _BOOL and outline.ndim and (mask := _as_read(item)) is not None:
                places = _places(mask)
                named = sum(x is not None and x is not ... for x in items)
                items += places
                if named + len(places) > rank:
                    return None
            elif outline.dtype == _INT64 and outline.ndim:
                items.append(item)
            else:
                return None
        else:
            return None
    return _expanded(items, rank)


def _as_read(mask: Tensor) -> Tensor | None:
    """A mask that is there; None if it has to be read as ever."""
    if type(mask) is not Deferred:
        return mask
    found = read_of(mask)
    return None if found is None else wrap(found)


def _expanded(items: list[Any], rank: int) -> list[Any] | None:
    """Items with slices in the place of an Ellipsis."""
    where = [k for k, x in enumerate(items) if x is ...]
    named = sum(x is not None and x is not ... for x in items)
    if named > rank or len(where) > 1:
        return None
    if where:
        k = where[0]
        items[k : k + 1] = [_WHOLE] * (rank - named)
    return items


def _nests(items: Any) -> bool:
    return not all(type(x) is int for x in items)


@preparation
def _listed(items: tuple[Any, ...]) -> Tensor | None:
    """A list of numbers as an index."""
    if not items or not all(type(x) is int for x in items):
        return None
    return wrap(np.array(items, _INT64))


@preparation
def _places(mask: Tensor) -> tuple[Tensor, ...]:
    """The indices of each dimension where a mask is true."""
    return tuple([wrap(np.ascontiguousarray(places)) for places in mask._array.nonzero()])
