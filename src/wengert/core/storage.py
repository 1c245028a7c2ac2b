"""In-place writes: which line wrote to which memory, and when.

A write stamps the array that owns the memory, on the clock that also orders nodes. A saved
array is valid as long as no later write touched its elements. Saving a value costs nothing;
backward compares one number per node unless some write is newer than the node.
"""

from __future__ import annotations

import ctypes
import linecache
import re
import sys
import weakref
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.core.tensor import tick

_MOST_REGIONS = 16


def line_of(code: CodeType, lasti: int) -> int:
    """The line number of an instruction."""
    line = None
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return line or code.co_firstlineno


def line_numbers(code: CodeType) -> dict[int, int]:
    """The line numbers of all instructions, for bulk look-ups."""
    return {
        at: line
        for start, end, line in code.co_lines()
        if line is not None
        for at in range(start, end, 2)
    }


def source_text(code: CodeType, lasti: int) -> str:
    """The source line of an instruction, empty if it cannot be read."""
    return linecache.getline(code.co_filename, line_of(code, lasti)).strip()


def format_location(file: str, line: int) -> str:
    """``file:line``, or for a notebook cell ``cell [2], line 3``."""
    cell = _cell(file)
    return f"cell [{cell}], line {line}" if cell else f"{file}:{line}"


def _cell(file: str) -> str:
    """The number of the notebook cell behind a file name, if it is one of IPython's."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    if get_shell is None:
        return ""
    compiler = getattr(get_shell(), "compile", None)
    named = getattr(compiler, "format_code_name", lambda _: None)(file)
    match = re.search(r"\d+", named[1]) if named else re.match(r"<ipython-input-(\d+)-", file)
    return match[match.re.groups] if match else ""


def location_of(code: CodeType, lasti: int) -> str:
    """``file:line`` of an instruction, or the cell and the line."""
    return format_location(code.co_filename, line_of(code, lasti))


def quoted_location(code: CodeType, lasti: int) -> str:
    """`location_of` an instruction, followed by the source line if it can be read."""
    return f"{location_of(code, lasti)}  {source_text(code, lasti)}".rstrip()


class Write(NamedTuple):
    """One in-place write: when, from where, and to which elements of the owner's memory."""

    clock: int
    code: CodeType
    lasti: int
    by: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


# What a log keeps of a write, from which `write_after` makes a `Write`: when, from where, and by
# what; and the part that was written, by its offset, shape and strides.
Header = tuple[int, CodeType, int, str]
Region = tuple[int, tuple[int, ...], tuple[int, ...]]


class Clock:
    """The time of the newest write to any memory."""

    newest = 0


clock = Clock()

# Called with an array whose elements are about to change, while they can still be copied.
guards: list[Callable[[np.ndarray], None]] = []

# What says how an in-place operation may be deferred: its tensor, its name and other arguments.
rebindings: list[Callable[[Any, Any, Any, Any], Any]] = []


class WriteLog:
    """The writes to one array's memory: how many, the last to all of it, later ones by region."""

    __slots__ = ("address", "count", "owner", "regions", "whole")

    def __init__(self, base: np.ndarray) -> None:
        self.address = 0  # until a region is noted
        self.owner = weakref.ref(base, _forget(id(base)))
        self.regions: dict[Region, tuple[Header, np.dtype[Any]]] = {}
        self.whole: Header | None = None
        self.count = 0


_writes: dict[int, WriteLog] = {}


def owner(array: np.ndarray) -> np.ndarray:
    """The array at the bottom of a chain of views, including NumPy's stride tricks."""
    while (base := array.base) is not None:
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # the object that `as_strided` inserts has one
            if not isinstance(base, np.ndarray):
                break
        array = base
    return array


def before_write(array: np.ndarray) -> None:
    """Notify the guards of an array whose elements are about to change."""
    if guards:
        for guard in (*guards,):  # one that is not needed any more takes itself away
            guard(array)


def before_writes(arrays: Iterable[np.ndarray]) -> None:
    """`before_write` for each array."""
    if guards:
        for array in arrays:
            before_write(array)


def stamp(array: np.ndarray, by: str, code: CodeType, lasti: int) -> None:
    """Record that the elements of `array` have just been written."""
    now = clock.newest = tick()
    entry = _writes.get(id(array))
    if entry is None and type(base := array.base) is np.ndarray and array.nbytes == base.nbytes:
        entry = _writes.get(id(base))
        if entry is not None and not (array.flags.c_contiguous or _fills(array)):
            entry = None  # it does not show all of it, in another shape
    if entry is None or entry.regions:
        _note(array, (now, code, lasti, by))
    else:  # it owns its memory, of which it is all
        entry.count += 1
        entry.whole = now, code, lasti, by


def stamp_at(array: np.ndarray, time: int, by: str, code: CodeType, lasti: int) -> None:
    """`stamp` with the time at which a line has asked for what was written later."""
    clock.newest = max(clock.newest, time)
    _note(array, (time, code, lasti, by))


def stamp_all(arrays: Iterable[np.ndarray], by: str, code: CodeType, lasti: int) -> None:
    """`stamp` for each array."""
    now = clock.newest = tick()
    header = (now, code, lasti, by)
    for array in arrays:
        entry = _writes.get(id(array))
        if entry is None or entry.regions:
            _note(array, header)
        else:  # as in `stamp`
            entry.count += 1
            entry.whole = header


def _note(array: np.ndarray, header: Header) -> None:
    """Put a write into the log of the array's memory."""
    base = array.base
    if base is None:
        base = array
    elif type(base) is not np.ndarray or base.base is not None:
        base = owner(array)
    entry = _writes.get(id(base))
    if entry is None:
        entry = _writes[id(base)] = WriteLog(base)
    entry.count += 1
    regions = entry.regions
    if array is not base and not (array.nbytes == base.nbytes and _fills(array)):
        if not entry.address:
            entry.address = address_of(base)
        region = (address_of(array) - entry.address, array.shape, array.strides)
        count = len(regions)
        if count < _MOST_REGIONS or region in regions:
            regions[region] = header, array.dtype
            if 1 < count == len(regions):
                regions[region] = regions.pop(region)  # the newest is the last
            return
        # Too many to track separately.
    if regions:
        regions.clear()
    entry.whole = header


def _fills(array: np.ndarray) -> bool:
    """Whether the elements of an array are all that there is between its ends."""
    return array.flags.forc or _has_no_gaps(array.shape, array.strides, array.itemsize)


@lru_cache(1024)
def _has_no_gaps(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    step = itemsize
    for stride, n in sorted(zip(strides, shape, strict=True)):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


def _interface_address(array: np.ndarray) -> int:
    """The address of an array's first element, as every interpreter gives it."""
    address: int = array.__array_interface__["data"][0]
    return address


def _struct_address(array: np.ndarray) -> int:
    """The same in a tenth of the time: the first field of NumPy's struct is the pointer."""
    return _word_at(id(array) + _POINTER).value


# Where CPython keeps that field: behind the head of the object.
_POINTER = object.__basicsize__
_word_at = ctypes.c_size_t.from_address
_probe = np.empty(1)
address_of: Callable[[np.ndarray], int] = _interface_address
if sys.implementation.name == "cpython" and _struct_address(_probe) == _interface_address(_probe):
    address_of = _struct_address


def _forget(key: int) -> Any:
    return lambda _: _writes.pop(key, None)


def add_writes(array: np.ndarray, count: int) -> None:
    """Count writes to an array's memory of a time before anyone could have saved it."""
    base = owner(array)
    entry = _writes.get(id(base))
    if entry is None:
        entry = _writes[id(base)] = WriteLog(base)
    entry.count += count


def write_count(array: np.ndarray) -> int:
    """How many times the array's memory was written."""
    entry = _writes.get(id(owner(array)))
    return 0 if entry is None else entry.count


def write_after(array: np.ndarray, time: int) -> Write | None:
    """The newest write since `time` that touched an element of `array`, if any."""
    base = owner(array)
    entry = _writes.get(id(base))
    if entry is None or not array.size:
        return None
    for region, (header, dtype) in reversed(entry.regions.items()):
        if header[0] > time:
            write = Write(*header, *region, dtype)
            if _touches(write, array, base):
                return write
    if entry.whole is not None and entry.whole[0] > time:
        return Write(*entry.whole, 0, base.shape, base.strides, base.dtype)
    return None


def _touches(write: Write, array: np.ndarray, base: np.ndarray) -> bool:
    flat = base.ravel("K")
    if not np.may_share_memory(flat, base):
        return True  # not dense: ravel had to copy
    first = flat.view(np.uint8)[write.offset : write.offset + write.dtype.itemsize]
    written = as_strided(first.view(write.dtype), write.shape, write.strides)
    try:
        return np.shares_memory(written, array, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
