"""The types of the kernel language, and what the annotations of a function say of them.

A type is named as in annotations: `f32`, `i64`, ...; an array of it is a pointer, `f32*`, and so
is a record. What returns nothing has the type `none`. A number of the source is a `const`, which
takes the type of what it meets.

Elements of the types `brain` and `half`, bfloat16 and float16, are f32 wherever they are read, and
are rounded where they are written.
"""

from __future__ import annotations

import ast
import inspect
import struct
import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from wengert.kernels.jit.records import Record

FLOATS = {"f32": "float", "f64": "double", "f16": "half"}
INTS = {"i64": "i64", "i32": "i32", "u16": "i16", "u8": "i8", "bool": "i1"}
STORED = {"brain": "i16", "half": "half"}
SIZES = {"f32": 4, "f64": 8, "f16": 2, "i64": 8, "i32": 4, "u16": 2, "u8": 1, "brain": 2, "half": 2}
LLVM = {**FLOATS, **INTS, **STORED, "none": "void"}


class KernelSyntaxError(SyntaxError):
    """A kernel uses what the subset does not have."""


class Term(NamedTuple):
    """A value: LLVM's name for it and its type; a number of the source has the type `const`."""

    text: Any
    type: str


class RecordType(str):
    """The type of a record: an array of i64 that has fields."""

    record: type[Record]

    def __new__(cls, record: type[Record]) -> RecordType:
        self = super().__new__(cls, "i64*")
        self.record = record
        return self

    def holds(self, type: str) -> bool:
        """Whether what has that type has all fields of this."""
        return isinstance(type, RecordType) and issubclass(type.record, self.record)


class Signature(NamedTuple):
    """The types of a function's arguments, and of its result."""

    params: tuple[tuple[str, str], ...]
    result: str


def llvm_type(name: str) -> str:
    """What LLVM calls a type."""
    return "ptr" if name.endswith("*") else LLVM[name]


def float_text(value: float, type: str) -> str:
    """A float as LLVM reads it exactly: the bits of a double."""
    if type == "f32":
        value = struct.unpack("<f", struct.pack("<f", value))[0] if abs(value) < 3.5e38 else value
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a function's source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def argument_kinds(signature: Signature) -> str:
    """A letter for each argument of a kernel but the last two, for `compiler.load`."""
    if [t for _, t in signature.params[-2:]] != ["i64", "i64"]:
        raise KernelSyntaxError("the last arguments of a kernel are `start: i64, stop: i64`")
    letters = {"f32": "f", "f64": "d", "i64": "i"}
    return "".join("p" if t.endswith("*") else letters[t] for _, t in signature.params[:-2])


def signature_of(
    function: Callable[..., Any] | ast.FunctionDef,
    real: str,
    scope: Mapping[str, Any] = MappingProxyType({}),
    stored: str = "",
) -> Signature:
    """What the annotations of a function say; those of a syntax tree name records of `scope`.

    Arrays of `stored` have elements of that type, or are `reals`.
    """
    if isinstance(function, ast.FunctionDef):
        nodes = [(a.arg, a.annotation) for a in function.args.args]
        annotations = {n: None if a is None else ast.unparse(a) for n, a in nodes}
        result = None if function.returns is None else ast.unparse(function.returns)
    else:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        annotations = {n: function.__annotations__.get(n) for n in names}
        result = function.__annotations__.get("return")
        scope = function.__globals__

    def type_of(argument: str, text: Any) -> str:
        if not isinstance(text, str):
            raise KernelSyntaxError(f"{function}: {argument!r} has no type that is a name")
        record = scope.get(text)
        if isinstance(record, type) and issubclass(record, Record):
            return RecordType(record)
        name = text.replace("stored", stored or real).replace("real", real)
        return f"{name[:-1]}*" if name.endswith("s") else name

    params = tuple((name, type_of(name, text)) for name, text in annotations.items())
    return Signature(params, "none" if result in (None, "None") else type_of("return", result))
