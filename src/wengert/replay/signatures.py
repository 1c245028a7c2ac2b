"""Where a run's operations are called, and what calls at one place have in common.

An unrolled loop calls the same operation on the same line many times, with operands of the same
kinds: what recording has to find out about such a call, it finds out once.
"""

from __future__ import annotations

from itertools import count
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wengert.core.tensor import internal
from wengert.replay.places import ends_of
from wengert.replay.rules import eligible

# Lines and signatures that are kept; with more of them, they are found anew.
_MOST = 4096


class Line:
    """A place in a user's code.

    Attributes:
        lasti: the first offset of the instruction, `end` the last.
        key: a number that lines of equal code share: to hash the code takes microseconds.
    """

    __slots__ = ("code", "end", "key", "lasti")

    def __init__(self, code: CodeType, lasti: int, end: int, key: tuple[int, int]) -> None:
        self.code, self.lasti, self.end, self.key = code, lasti, end, key


class Signature:
    """Calls of one operation with operands of the same kinds.

    Attributes:
        eligible: whether a record may hold them.
        continues: whether values of the run are among the operands.
        params: the arguments that are no operands.
        refs: the operands, none of which is known yet; `operands` are their names and places among
            the arguments.
        updated: which of the arguments are buffers that it writes to, in the order of the
            arguments; `buffers` are they in the order of its results.
    """

    __slots__ = ("buffers", "continues", "eligible", "operands", "params", "refs", "updated")

    def __init__(self, op: Any, arguments: dict[str, Any], continues: bool) -> None:
        self.continues, self.eligible = continues, eligible(op, arguments, continues)
        self.params = {n: as_it_is(arguments.get(n, default)) for n, default in op.params.items()}
        self.refs: dict[str, Any] = dict.fromkeys(op.inputs)
        self.operands = [(n, k) for k, n in enumerate(arguments) if n in self.refs]
        given = {n: k for k, n in enumerate(arguments) if arguments[n] is not None}
        self.buffers = [given[n] for n in op.updates if n in given]
        self.updated = tuple(sorted(self.buffers))


class Signatures:
    """The lines and signatures of a record.

    Attributes:
        shared: what many entries are to share that say the same.
        noted: what calls have in common that are noted before they are entries, by what they are
            like.
    """

    def __init__(self) -> None:
        self.shared: dict[Any, Any] = {}
        self.noted: dict[Any, Any] = {}
        self._lines: dict[tuple[int, int], Line] = {}
        self._codes: WeakKeyDictionary[CodeType, int] = WeakKeyDictionary()
        self._numbers = count()
        self._found: dict[Any, Signature] = {}

    def line(self, code: CodeType, lasti: int) -> Line:
        """The line of an offset."""
        found = self._lines.get((id(code), lasti))  # which holds the code: nothing else has its id
        return self._new_line(code, lasti) if found is None else found

    def _new_line(self, code: CodeType, lasti: int) -> Line:
        number = self._codes.get(code)
        if number is None:
            number = self._codes[code] = next(self._numbers)
        first, end = ends_of(code, lasti)
        if len(self._lines) >= _MOST:
            self._lines.clear()
        line = self._lines[id(code), lasti] = Line(code, first, end, (number, first))
        return line

    def of(
        self, op: Any, names: tuple[str, ...], args: Any, kwargs: Any, keys: list[Any],
        continues: bool,
    ) -> Signature:  # fmt: skip
        """What calls of an operation with such arguments have in common; TypeError without a hash.

        `keys` say what the arguments are.
        """
        kinds: list[Any] = [op, continues, len(args), *kwargs]
        for x, key in zip((*args, *kwargs.values()), keys, strict=True):
            if key is float or (type(key) is tuple and key[0] != "i"):
                kinds.append(key)
            else:
                kinds.append(x.dtype if type(x) is np.ndarray else x._outline.dtype)
        place = tuple(kinds)
        found = self._found.get(place)
        if found is None:
            arguments = dict(zip(names, args, strict=False)) | kwargs
            if len(self._found) >= _MOST:
                self._found.clear()
            found = self._found[place] = Signature(op, arguments, continues)
        return found


def as_it_is(value: Any) -> Any:
    """A parameter of an entry: a copy of what the caller may change."""
    if type(value) is list or type(value) is tuple:
        return type(value)(map(as_it_is, value))
    return value.copy(order="K") if type(value) is np.ndarray else value


def users_frame(frame: FrameType) -> tuple[FrameType, int]:
    """The first frame outside of the package, from one outwards, and how many are before it."""
    outer: FrameType | None = frame
    hops = 0
    while outer is not None and outer.f_code.co_filename in internal:
        outer, hops = outer.f_back, hops + 1
    return (frame, 0) if outer is None else (outer, hops)
