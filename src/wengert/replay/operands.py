"""What the operands of a run's calls are in its terms: values, inputs, numbers."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.exposure import is_exposed
from wengert.core.layout import memory_format
from wengert.core.storage import owner
from wengert.core.tensor import Tensor, mode, tensors
from wengert.kernels.geometry import Geometry
from wengert.kernels.layout import with_strides
from wengert.kernels.norm.plan import NormPlan
from wengert.kernels.recurrent.steps import Steps
from wengert.replay.deferred import Deferred, settle
from wengert.replay.record import Record
from wengert.replay.state import active, shows_exposed
from wengert.replay.storing import known_holders
from wengert.replay.trace import Again, Memo, OpEntry, input_of

# Records of nothing but integers, which are compared as a whole.
OF_INTS = frozenset({Geometry, NormPlan})
# Larger arrays among parameters are not compared.
_MOST_BYTES = 1 << 16
# So many are compared faster as bytes than element by element.
_FEW_BYTES = 1 << 14
# The reference and the place of what is no value of a run.
_NOT_RECORDED: tuple[Any, int | None] = (lambda: None), None
# What elements of a size are compared as, bit by bit.
_WORDS = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


class UnseenError(Exception):
    """An operand that the record cannot describe."""


class Operands:
    """The tensors and numbers from outside that a run has met.

    Attributes:
        recording: whether the run has left the record.
        tensors: its inputs; `arrays` and `edges` are theirs when it met them, and `originals` the
            arrays where those are `copies`.
        numbers: the Python floats among the operands.
        recorded: the places of its values that are not deferred, by their identity.
        updates: by place of a buffer's next elements, the buffer's memory; `stores` says which of
            them in-place operations have given, and to whom; `stored` are the bytes of these.
        newest: the time of the last write that somebody who watches the run knows of.
        holds: the slots of the inputs with an array, by its identity.
        leaves: the slots of values that have become leaves, by their places.
    """

    # What native code reads is in slots: see `following`.
    __slots__ = (
        "__dict__", "__weakref__", "arrays", "edges", "holds", "numbers", "originals", "slots",
        "tensors", "updates",
    )  # fmt: skip

    record: Record

    def __init__(self) -> None:
        self.recording = False
        self.tensors: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self.originals: list[np.ndarray] = []
        self.edges: list[Any] = []
        self.copies: list[int] = []
        self.owners, self.owned = set[int](), 0  # of the memory of so many of them
        self.numbers: list[float] = []
        self.slots: dict[int, int] = {}
        self.recorded: dict[int, tuple[Any, int]] = {}
        self.updates: dict[int, Any] = {}
        self.stores: dict[int, Any] = {}
        self.newest: int | None = None
        self.stored = 0
        self.holds: dict[int, list[int]] = {}
        self.leaves: dict[int, int] = {}

    def place_of(self, x: Any) -> int | None:
        """The place of a tensor among the values of this run."""
        if type(x) is Deferred:
            pending = x._pending
            if type(pending) is tuple and pending[0] is self:
                place: int = pending[1]
                return place if place >= 0 else None
            settle(x)
        if self.recorded:
            reference, place = self.recorded.get(id(x), (None, 0))
            if reference is not None and reference() is x:
                return place
        return None

    def is_value(self, x: Any) -> bool:
        """Whether a tensor is a value of this run."""
        return self.place_of(x) is not None

    def _key(self, x: Any, fresh: list[Any], numbers: list[float], operand: bool) -> Any:
        """What an argument is in terms of the run; new inputs and numbers are collected."""
        kind = type(x)
        if kind is Deferred or kind in tensors or kind is np.ndarray:
            return self._operand(x, fresh) if operand else _contents(x)
        if kind is float:
            if operand and not self.record.fixed:
                numbers.append(x)
                return float
            return "f", x.hex()
        if kind is int or kind is bool or kind is str or kind in OF_INTS or x is None:
            return kind, x
        if kind is list or isinstance(x, tuple):
            return (kind, *[self._key(v, fresh, numbers, False) for v in x])
        if kind is slice:
            return kind, x.start, x.stop, x.step
        if isinstance(x, np.generic):
            return kind, x.tobytes()
        if x is ... or isinstance(x, np.dtype | memory_format | Steps):
            return kind, x
        raise UnseenError(kind.__name__)

    def _operand(self, x: Any, fresh: list[Any]) -> Any:
        reference, place = self.recorded.get(id(x), _NOT_RECORDED)
        if reference() is not x:
            place = self.place_of(x)
        if place is not None:
            return place if not self.stores else self._after_writes(x, place)
        slot = self.slots.get(id(x))
        if type(x) is Deferred:
            return "i", slot  # a leaf
        is_tensor = type(x) is not np.ndarray
        array = x._array if is_tensor else x
        if slot is not None and self.tensors[slot]() is x:
            if not self.recording and (
                self.originals[slot] is not array or (is_tensor and self.edges[slot] is not x._edge)
            ):
                raise UnseenError("a tensor that shows other memory than before")
            if not self.recording and not self._is_current(slot):
                raise UnseenError("memory that somebody has written to")
            return "i", slot
        for k, other in enumerate(fresh):
            if other is x:
                return "i", len(self.tensors) + k
        if type(array) is not np.ndarray:
            raise UnseenError("a tensor without memory")
        fresh.append(x)
        return input_of(x)

    def _after_writes(self, x: Any, place: int) -> int:
        """The place of a value; no leaf is one where operations are recorded."""
        if place in self.stores and mode.site is not None and x.requires_grad:
            raise UnseenError("a leaf that was written to")
        return place

    def _is_current(self, slot: int) -> bool:
        """Whether memory that was copied, because NumPy may write to it, is as it was."""
        copy, original = self.arrays[slot], self.originals[slot]
        if copy is original:
            return True
        word = _WORDS.get(copy.itemsize)
        if word is None or copy.nbytes <= _FEW_BYTES:
            return copy.tobytes() == original.tobytes()
        return bool((copy.view(word) == original.view(word)).all())

    def _is_all_current(self) -> bool:
        """Whether nobody has written to any memory that was copied."""
        return all(map(self._is_current, self.copies))

    def _bind(self, fresh: Sequence[Any], numbers: Sequence[float]) -> None:
        """Take hold of the inputs that a call brought: of their memory, where it is read later.

        Of the tensors weakly: a parameter's gradient may belong to the run.
        """
        for x in fresh:
            is_array = type(x) is np.ndarray
            array = x if is_array else x._array
            self.slots[id(x)] = len(self.tensors)
            self.tensors.append(weakref.ref(x))
            if self.recording:
                continue
            if is_array or is_exposed(array, known_holders(self, array) if active.sharing else 0):
                self.copies.append(len(self.arrays))
                self.arrays.append(self._copy_of(array))
            else:
                self.arrays.append(array)
            self.originals.append(array)  # a reference that `exposed` would count
            self.holds.setdefault(id(array), []).append(self.slots[id(x)])
            self.edges.append(None if is_array else x._edge)
        self.numbers += numbers

    def _copy_of(self, array: np.ndarray) -> np.ndarray:
        """A copy of memory that NumPy may write to: sums take as long, or are the same, bit by bit.

        Elements that are repeated are so in the copy, too.
        """
        strides = array.strides
        if (0 in strides or self.record.exact) and array.size and min(strides, default=0) >= 0:
            return with_strides(array, strides)
        return array.copy(order="K")

    def _is_copied(self, x: Any, fresh: list[Any] | None) -> bool:
        """Whether what the run reads of a view's source is, or would be, a copy."""
        if fresh:
            return any(shows_exposed(x) for x in fresh)
        if self.updates and self.place_of(x) in self.updates:
            return True  # a later update is not to change what the view's place has
        if type(x) is Deferred or self.recording:
            return False
        slot = self.slots.get(id(x))
        return slot is not None and self.arrays[slot] is not self.originals[slot]

    def _may_update(self, buffers: list[Any], fresh: list[Any]) -> bool:
        """Whether what a call writes to its buffers can wait: their memory has one reader each."""
        if len({id(x) for x in buffers}) < len(buffers):
            return False
        for x in buffers:
            place = self.place_of(x)
            if place is None:
                if type(x) is not Tensor or not among(x, fresh) or shows_exposed(x):
                    return False
            elif place not in self.updates:
                return False
        return True

    def reads(self, memory: int) -> bool:
        """Whether what is deferred reads the memory of an array, by its identity."""
        seen, count = self.owners, len(self.originals)
        if self.owned < count:
            seen.update([id(owner(a)) for a in self.originals[self.owned : count]])
            self.owned = count
        return memory in seen

    def _is_as(  # noqa: C901 (a function for each argument would cost more)
        self, child: OpEntry, args: Any, kwargs: Any, fresh: list[Any], numbers: list[float]
    ) -> bool:
        """Whether arguments are those of an entry; its new inputs and numbers are collected."""
        pattern = child.pattern
        if kwargs:
            if (*kwargs,) != child.keywords:
                return False
            args = (*args, *kwargs.values())
        elif child.keywords:
            return False
        if len(args) != len(pattern):
            return False
        for x, expected in zip(args, pattern):  # noqa: B905 (of one length)
            kind = type(expected)
            if kind is int:
                if type(x) is not Deferred:
                    return False
                pending = x._pending
                if pending[1] != expected or pending[0] is not self:
                    return False
            elif kind is Memo:
                if self._has_met(x) or (fresh and among(x, fresh)) or not expected.fits(x):
                    return False
                fresh.append(x)
            elif expected is float:
                if type(x) is not float:
                    return False
                numbers.append(x)
            elif kind is Again:
                known = len(self.tensors)
                if expected.slot >= known:  # as an argument before it
                    if fresh[expected.slot - known] is not x:
                        return False
                elif not self._is_again(x, expected.slot):
                    return False
            elif not self._has_key(x, expected):
                return False
        return True

    def _has_met(self, x: Any) -> bool:
        """Whether a tensor is an input: others may have been where it is, and are gone."""
        slot = self.slots.get(id(x))
        return slot is not None and self.tensors[slot]() is x

    def _is_again(self, x: Any, slot: int) -> bool:
        """Whether an argument is the input of a slot, which the run has met and nobody changed."""
        if x is None or self.tensors[slot]() is not x or self.recording:
            return False
        if type(x) is Deferred and x._pending[1] < 0:
            return True  # a leaf
        try:
            original = self.originals[slot]
            if type(x) is np.ndarray:
                return x is original and self._is_current(slot)
            return (
                x._array is original
                and self.edges[slot] is x._edge
                and (self.arrays[slot] is original or self._is_current(slot))
            )
        except IndexError:  # another thread has settled the run
            return False

    def _has_key(self, x: Any, expected: Any) -> bool:
        """Whether an argument that is no new input has a key."""
        kind = type(x)
        if kind is int or kind is bool or x is None or kind is str or kind in OF_INTS:
            return kind is expected[0] and bool(x == expected[1])
        if kind is tuple or kind is list:
            if kind is not expected[0] or len(x) + 1 != len(expected):
                return False
            for n, v in enumerate(x, 1):
                key = expected[n]
                if type(v) is int and key[0] is int:
                    if v != key[1]:
                        return False
                elif not self._has_key(v, key):
                    return False
            return True
        try:
            return bool(self._key(x, [], [], False) == expected)
        except UnseenError:
            return False


def _contents(x: Any) -> Any:
    """An array among the parameters, such as the positions that are averaged: it is no input."""
    if type(x) is not np.ndarray or x.nbytes > _MOST_BYTES:
        raise UnseenError("a tensor or a large array among the parameters")
    return np.ndarray, x.shape, x.dtype.str, x.tobytes()


def among(x: Any, others: list[Any]) -> bool:
    """Whether an object is one of others."""
    for other in others:  # noqa: SIM110 (a call of any() costs more)
        if other is x:
            return True
    return False
