"""What kernels ask of Python's objects: their fields, and functions of Python's C interface.

An object is its address, an i64. Whoever calls holds Python's lock and the objects. A function
that gives an object gives a new reference to it, if it does not say otherwise, and 0 where Python
has an error to raise.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wengert.kernels.jit.builtins import array_at, i32, i64, i64s, inline
from wengert.kernels.jit.heads import HEAD
from wengert.kernels.jit.native import Native

# The words of an object: its type ends the head. Behind that are the size of a list, tuple or
# dictionary, and what a weak reference refers to; then the array of a list, or the first item of a
# tuple.
TYPE, FIRST, SECOND = HEAD - 8, HEAD, HEAD + 8
# Where the bytes of a bytes object begin.
BYTES = bytes.__basicsize__ - 1

_DEFINITION = """\
define internal i64 @{name}({params}) alwaysinline nounwind {{
{body}}}
"""
_BODIES = {
    "i64": "  %found = call i64 @{symbol}({passed})\n  ret i64 %found\n",
    "i32": "  %small = call i32 @{symbol}({passed})\n"
    "  %found = sext i32 %small to i64\n  ret i64 %found\n",
    "void": "  call void @{symbol}({passed})\n  ret i64 0\n",
}  # fmt: skip


def _of_python(
    symbol: str, result: str = "i64", more: str = ""
) -> Callable[[Callable[..., Any]], Native]:
    """A function of Python's C interface, with what it returns and what `more` it is given."""

    def mark(python: Callable[..., Any]) -> Native:
        names = python.__code__.co_varnames[: python.__code__.co_argcount]
        types = ["ptr" if python.__annotations__[n] == "i64s" else "i64" for n in names]
        params = ", ".join(f"{t} %{n}" for t, n in zip(types, names, strict=True))
        declared = ", ".join([*types, *["i64"] * bool(more)])
        body = _BODIES[result].format(symbol=symbol, passed=params + more)
        text = _DEFINITION.format(name=python.__name__, params=params, body=body)
        return Native(python, text, f"{result} @{symbol}({declared})")

    return mark


def _compiled_only() -> int:
    raise NotImplementedError("objects are for compiled kernels")


@_of_python("Py_IncRef", "void")
def hold(x: i64) -> i64:
    """Count one more reference to an object."""
    return _compiled_only()


@_of_python("Py_DecRef", "void")
def let_go(x: i64) -> i64:
    """Count one reference less."""
    return _compiled_only()


@_of_python("PyObject_IsTrue", "i32")
def truth(x: i64) -> i64:
    """1 if an object is true, 0 if not, -1 for an error."""
    return _compiled_only()


@_of_python("PyObject_GetAttr")
def attribute(x: i64, name: i64) -> i64:
    """An attribute."""
    return _compiled_only()


@_of_python("PyDict_GetItem")
def entry_of(dictionary: i64, key: i64) -> i64:
    """What a dictionary has by a key, as it has it; 0 if nothing."""
    return _compiled_only()


@_of_python("PyDict_SetItem", "i32")
def entered(dictionary: i64, key: i64, x: i64) -> i64:
    """Let a dictionary have an object by a key: 0, or -1 for an error."""
    return _compiled_only()


@_of_python("PyObject_CallNoArgs")
def called(function: i64) -> i64:
    """What a function returns that is called without arguments."""
    return _compiled_only()


@_of_python("PyObject_CallOneArg")
def called_with(function: i64, x: i64) -> i64:
    """What a function of one argument returns."""
    return _compiled_only()


@_of_python("PyObject_VectorcallMethod", more=", i64 0")
def method_called(name: i64, arguments: i64s, count: i64) -> i64:
    """What a method returns, the object of which comes first among the arguments."""
    return _compiled_only()


@_of_python("PyLong_AsLongLong")
def number_of(x: i64) -> i64:
    """The number that an int is."""
    return _compiled_only()


@_of_python("PyLong_FromLongLong")
def int_of(number: i64) -> i64:
    """The int that is a number."""
    return _compiled_only()


@_of_python("PyTuple_New")
def new_tuple(size: i64) -> i64:
    """A tuple whose items are to be put into it, each a reference of its own."""
    return _compiled_only()


@_of_python("PyList_New")
def new_list(size: i64) -> i64:
    """A list, without items if it is of none."""
    return _compiled_only()


@_of_python("PyList_Append", "i32")
def appended(objects: i64, x: i64) -> i64:
    """Append an object to a list: 0, or -1 for an error."""
    return _compiled_only()


@_of_python("PyWeakref_NewRef", more=", i64 0")
def new_reference(x: i64) -> i64:
    """A weak reference."""
    return _compiled_only()


@_of_python("PyFrame_GetCode")
def code_of(frame: i64) -> i64:
    """The code of a frame."""
    return _compiled_only()


@_of_python("PyFrame_GetLasti", "i32")
def offset_of(frame: i64) -> i64:
    """The offset of the instruction that a frame is at."""
    return _compiled_only()


@_of_python("PyErr_Clear", "void")
def forget_error() -> i64:
    """Let there be no error to raise."""
    return _compiled_only()


@inline
def word(address: i64) -> i64:
    """What is at an address."""
    return array_at(i64, address)[0]


@inline
def references(x: i64) -> i64:
    """How many references to an object are counted."""
    return i64(array_at(i32, x)[0])


@inline
def listed(objects: i64, index: i64) -> i64:
    """An item of a list, as it has it; 0 if it has no such item."""
    found = 0
    if index < word(objects + FIRST):
        found = array_at(i64, word(objects + SECOND))[index]
    return found


@inline
def put(objects: i64, index: i64, x: i64) -> i64:
    """Put an object into a new tuple, with a reference of its own."""
    hold(x)
    array_at(i64, objects + SECOND)[index] = x
    return 0


@cache
def knows_objects() -> bool:
    """Whether objects of this Python have such words."""
    at: Callable[[int], Any] = ctypes.c_int64.from_address
    one = object
    others: Sequence[Any] = [], (one,), {1: 2, 3: 4}
    reference = weakref.ref(one)
    fields = ctypes.c_int64 * 2
    objects = [one, others]
    in_list = fields.from_address(at(id(objects) + SECOND).value)
    return (
        HEAD == 16  # a build that counts otherwise has another
        and [at(id(x) + FIRST).value for x in (*others, objects)] == [0, 1, 2, 2]
        and all(at(id(x) + TYPE).value == id(type(x)) for x in (one, *others, reference))
        and at(id(others[1]) + SECOND).value == id(one)
        and at(id(reference) + FIRST).value == id(one)
        and [*in_list] == [id(one), id(others)]
        and ctypes.string_at(id(b"bytes") + BYTES, 5) == b"bytes"
        and _counts_references()
    )


def _counts_references() -> bool:
    """Whether the count of an object's references is where `references` looks."""
    holders = [[object()] for _ in range(2)]
    holders[1].append(holders[1][0])
    counts = [ctypes.c_int32.from_address(id(one[0])).value for one in holders]
    return counts == [1, 2]
