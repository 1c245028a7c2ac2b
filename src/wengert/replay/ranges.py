"""Between which numbers the elements of a value lie, as far as its operations say.

Indices that cannot be out of bounds, such as those of maxima, need no look at them.
"""

from __future__ import annotations

from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from wengert.kernels.axes import axis_of
from wengert.ops.op import Op
from wengert.replay.rules import ListForm
from wengert.replay.trace import Entry, OpEntry, Ref, inputs_of, producers

Range = tuple[float, float]

_ANYTHING: Range = (-inf, inf)
_MASK: Range = (0, 1)
# Places along a dimension: that of the parameter, all of them if it is None.
_PLACES = frozenset({
    "argmax", "argmin", "_place_of_max", "_place_of_min", "_sorted_places", "_top_places",
    "_kth_place", "_mode_place", "argsort",
})  # fmt: skip
# What gives elements of the first operand, and nothing else.
_PICKED = frozenset({
    "reshape", "view", "flatten", "squeeze", "unsqueeze", "transpose", "t", "permute", "expand",
    "clone", "select", "basic", "repeat", "flip", "roll", "diagonal", "_diagonal_copy", "_pick",
    "take_along", "gather", "index_select", "indexed", "amax", "amin", "detach", "unbind", "split",
    "unfold",
})  # fmt: skip

_known: WeakKeyDictionary[Entry, dict[int, Range]] = WeakKeyDictionary()


def range_of(entry: Entry, place: int) -> Range:
    """The least and the largest number that integers of a place can be, on the way to an entry."""
    found = _known.setdefault(entry, {})
    if place not in found:
        found[place] = _Ranges(entry.path()).of(Ref("value", place))
    return found[place]


class _Ranges:
    """The ranges of the values on a path."""

    def __init__(self, path: list[Entry]) -> None:
        self.inputs, self.makers = inputs_of(path), producers(path)

    def of(self, ref: Ref | None) -> Range:
        """Of an operand of integers or booleans; of others nothing is known."""
        if ref is None:
            return _ANYTHING
        if ref.kind == "constant" and type(ref.index) is int:
            return ref.index, ref.index
        if self._is_mask(ref):
            return _MASK
        entry = self.makers.get(ref.index) if ref.kind == "value" else None
        if not isinstance(entry, OpEntry):
            return _ANYTHING
        if entry.outlines[ref.index - entry.first].dtype.kind not in "iu":
            return _ANYTHING
        return self._made(entry)

    def _is_mask(self, ref: Ref) -> bool:
        if ref.kind == "input":
            return self.inputs[ref.index].dtype == "|b1"
        entry = self.makers.get(ref.index) if ref.kind == "value" else None
        return entry is not None and entry.outlines[ref.index - entry.first].dtype.kind == "b"

    def _made(self, entry: OpEntry) -> Range:
        """Of what an operation gives."""
        name, refs = entry.op.name, [*entry.refs.values()]
        if name in _PLACES:
            return 0, self._length(entry) - 1
        if name in _PICKED or name == "_discrete":
            return self.of(refs[0])
        if name == "_clamp_numbers":
            return self._clamped(entry)
        if name == "_where":
            return _union(self.of(entry.refs["input"]), self.of(entry.refs["other"]))
        if isinstance(entry.op, ListForm) and entry.op.public_name in ("cat", "stack"):
            return _union(*map(self.of, refs))
        return _ANYTHING

    def _clamped(self, entry: OpEntry) -> Range:
        low, high = self.of(entry.refs["input"])
        least, most = entry.params["min"], entry.params["max"]
        if least is not None:
            low, high = max(low, least), max(high, least)
        return (low, high) if most is None else (min(low, most), min(high, most))

    def _length(self, entry: OpEntry) -> float:
        """The length of the dimension that an operation finds places in."""
        ref, dim = entry.refs[entry.op.inputs[0]], entry.params["dim"]
        if not isinstance(entry.op, Op) or ref is None or ref.kind not in ("input", "value"):
            return inf
        shape: Any
        if ref.kind == "input":
            shape = self.inputs[ref.index].shape
        else:
            maker = self.makers[ref.index]
            shape = maker.outlines[ref.index - maker.first].shape
        if dim is None or not shape:
            return inf if dim is None else 1
        return shape[axis_of(dim, len(shape))]


def _union(*ranges: Range) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)
