"""Copies of NumPy's generators, of which each draw of an expression makes one.

A generator goes into a draw and stays as it was: if a function fails, nothing has changed. NumPy
takes some hundred microseconds for a copy; where its generators lie in memory as expected, their
numbers are copied in a few.
"""

from __future__ import annotations

import copy
import ctypes
from functools import cache
from sys import getrefcount
from typing import Any

import numpy as np

_KIND = "MT19937"
# The bytes of that generator's numbers: 624 words, and how many have been given out.
_STATE = 625 * 4
# Of a generator that has given one of two normal numbers: whether there is another, and which.
_NORMAL = 16


class _Unseeded(np.random.bit_generator.ISeedSequence):
    """The seed of a generator that gets its state from another."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        """Zeros: others take NumPy longer than the copy."""
        return np.zeros(n_words, dtype)


def new_generator() -> np.random.RandomState:
    """A generator that is to get the state of another."""
    return np.random.RandomState(np.random.MT19937(_Unseeded()))  # type: ignore[arg-type]


class Copies:
    """Copies for one draw, which take turns where nobody else has them."""

    def __init__(self) -> None:
        self._last: list[Any] = []  # the generator that the last copy was made of

    def copied(self, state: Any) -> Any:
        """A generator that goes on as another does."""
        if not is_plain(state) or not _normal_at():
            return _by_numpy(state)
        free = self._last.pop() if self._last else None
        if free is None or free is state or not is_plain(free) or getrefcount(free) > _ALONE:
            free = new_generator()
        self._last.append(state)
        _move(free, state)
        return free


def is_plain(state: Any) -> bool:
    """Whether a generator is NumPy's own of the kind whose numbers can be copied."""
    kind = type(state) is np.random.RandomState and type(_bits_of(state)) is np.random.MT19937
    return bool(kind)


def _by_numpy(state: Any) -> Any:
    own = type(state) is np.random.RandomState and state.get_state(legacy=False)
    if not own or own["bit_generator"] != _KIND:
        return copy.deepcopy(state)
    fresh = new_generator()
    fresh.set_state(own)
    return fresh


def _move(to: Any, source: Any) -> None:
    """Let a generator go on as another does."""
    target, own = _bits_of(to), _bits_of(source)
    with own.lock:
        ctypes.memmove(target.ctypes.state_address, own.ctypes.state_address, _STATE)
        ctypes.memmove(id(to) + _normal_at(), id(source) + _normal_at(), _NORMAL)


def _bits_of(state: Any) -> Any:
    return state._bit_generator


@cache
def _normal_at() -> int:
    """How far into a generator the second of two normal numbers is noted; 0 if that is not known.

    Nor are the others then where they are expected.
    """
    try:
        return _found()
    except (AttributeError, TypeError, ValueError):
        return 0


def _found() -> int:
    one = np.random.RandomState(1)
    one.normal()
    state: Any = one.get_state()
    *_, given, normal = state
    size = np.random.RandomState.__basicsize__
    words = (ctypes.c_double * (size // 8)).from_address(id(one))
    places = [8 * k - 8 for k in range(1, size // 8) if words[k] == normal]
    if len(places) != 1 or given != 1:
        return 0
    (place,) = places
    again, fresh = np.random.RandomState(2), np.random.RandomState(3)
    again.normal(size=3)
    for of, expected in ((one, 1), (again, 1), (fresh, 0)):
        if ctypes.c_int.from_address(id(of) + place).value != expected:
            return 0
    return place if _are_words(again) else 0


def _are_words(state: Any) -> bool:
    """Whether a generator's numbers are where they are expected."""
    _, keys, position, *_ = state.get_state()
    words = (ctypes.c_uint32 * (_STATE // 4)).from_address(_bits_of(state).ctypes.state_address)
    return [*words] == [*keys.tolist(), position]


def _alone() -> int:
    """What `getrefcount` says in `Copies.copied` of a generator that nobody else has."""
    last = [object()]
    free = last.pop()
    return getrefcount(free)


_ALONE = _alone()
