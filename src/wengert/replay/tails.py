"""The end of a function: what it still does once it has read a value."""

from __future__ import annotations

import dis
from types import CodeType

# Instructions that hand objects on without looking at them: no jump, comparison or arithmetic,
# nothing that stores where others see it, and no mapping, whose keys have hashes.
_HANDING = frozenset({
    "NOP", "CACHE", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_DEREF",
    "LOAD_GLOBAL", "LOAD_METHOD", "LOAD_ATTR", "PUSH_NULL", "PRECALL", "STORE_FAST",
    "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "BUILD_TUPLE", "BUILD_LIST",
    "BUILD_CONST_KEY_MAP", "SWAP",
})  # fmt: skip
_CALLS = frozenset({"CALL"})


def calls_before_return(code: CodeType, lasti: int) -> frozenset[int] | None:
    """The offsets of a call and of those that follow, if all else only hands on and returns."""
    calls: set[int] = set()
    at = call_at(code, lasti)
    for instruction in dis.get_instructions(code):
        if instruction.offset < at:
            continue
        name = instruction.opname
        if name in ("RETURN_VALUE", "RETURN_CONST"):
            return frozenset(calls)
        if name in _CALLS:
            calls.add(instruction.offset)
        elif name not in _HANDING:
            return None
    return None


def call_at(code: CodeType, lasti: int) -> int:
    """The offset of the instruction that a frame is at: it may stand at what belongs to it."""
    return max(i.offset for i in dis.get_instructions(code) if i.offset <= lasti)
