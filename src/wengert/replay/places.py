"""Where in a function's code a call is, however Python has specialised the code meanwhile.

Once `x[i]` is specialised, its frame says that it is at the end of the instruction.
"""

from __future__ import annotations

import dis
from types import CodeType
from weakref import WeakKeyDictionary

_known: WeakKeyDictionary[CodeType, dict[int, tuple[int, int]]] = WeakKeyDictionary()


def ends_of(code: CodeType, lasti: int) -> tuple[int, int]:
    """The first and the last offset of the instruction at an offset."""
    found = _known.get(code)
    if found is None:
        found = _known[code] = _ends(code)
    return found.get(lasti, (lasti, lasti))


def _ends(code: CodeType) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    offsets = [i.offset for i in dis.get_instructions(code)]
    for start, behind in zip(offsets, [*offsets[1:], len(code.co_code)], strict=True):
        found.update(dict.fromkeys(range(start, behind, 2), (start, behind - 2)))
    return found
