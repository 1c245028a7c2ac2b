"""Schemas: the text that says what an operation takes and returns, such as `mm(Tensor a, Tensor b)
-> Tensor`, read into arguments and types.

A type is the text of it, without the alias annotation: `Tensor`, `Tensor?`, `int[]`, `ScalarType`.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import dtype
from wengert.core.generators import Generator
from wengert.core.tensor import Tensor


class Alias(NamedTuple):
    """What the annotation of a tensor says: which set it shares memory with, and if it is written.

    Attributes:
        before_set: the names between its parentheses, without the exclamation mark.
        is_write: whether there is one.
    """

    before_set: frozenset[str]
    is_write: bool


class Argument(NamedTuple):
    """An argument or a result of an operation.

    Attributes:
        name: empty for most results.
        type: of schemas, such as ``Tensor?``.
        default_value: None as well where there is none.
        has_default: whether there is one.
        kwarg_only: whether it has to be named.
        alias_info: of tensors that share memory.
        declared: the type as the schema has it, such as ``SymInt[2]`` where `type` is ``int[]``.
    """

    name: str
    type: str
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    alias_info: Alias | None = None
    declared: str = ""

    def has_default_value(self) -> bool:
        """Whether the argument may be left out."""
        return self.has_default

    @property
    def is_write(self) -> bool:
        """Whether the operation writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        alias = ""
        if self.alias_info is not None:
            names = "|".join(sorted(self.alias_info.before_set))
            alias = f"({names}{'!' * self.alias_info.is_write})"
        kind = self.declared or self.type
        text = kind.replace("Tensor", f"Tensor{alias}", 1)
        if self.name:
            text += f" {self.name}"
        if not self.has_default:
            return text
        value, count = self.default_value, re.search(r"\[(\d+)\]$", kind)
        if count and isinstance(value, int | float):  # one number for all of them
            value = [value] * int(count[1])
        return f"{text}={_default_text(value)}"


class FunctionSchema(NamedTuple):
    """What an operation takes and returns.

    >>> from wengert.library import infer_schema
    >>> from wengert.dispatch.schema import parse_schema
    >>> schema = parse_schema("my::scale(Tensor x, float by=2.0) -> Tensor")
    >>> schema.name, [a.name for a in schema.arguments]
    ('my::scale', ['x', 'by'])
    """

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]

    @property
    def is_mutable(self) -> bool:
        """Whether it writes to one of its arguments."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        texts = []
        for k, argument in enumerate(self.arguments):
            if argument.kwarg_only and not (k and self.arguments[k - 1].kwarg_only):
                texts.append("*")
            texts.append(str(argument))
        results = ", ".join(map(str, self.returns))
        results = results if len(self.returns) == 1 else f"({results})"
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        return f"{name}({', '.join(texts)}) -> {results}"


_HEAD = re.compile(r"\s*((?:\w+::)?\w+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*$", re.DOTALL)
_ARGUMENT = re.compile(
    r"(?P<kind>\w+)(?:\((?P<alias>[^)]*)\))?(?P<suffix>(?:\?|\[\d*\](?:\([^)]*\))?)*)"
    r"(?:\s+(?P<name>\w+))?(?:\s*=\s*(?P<default>.+))?$",
    re.DOTALL,
)


def parse_schema(text: str) -> FunctionSchema:
    """A schema from its text. RuntimeError for what is none.

    ``Tensor!`` is written to, and aliases nothing else.
    """
    numbers = itertools.count()
    text = re.sub(r"\bTensor!", lambda match: f"Tensor(${next(numbers)}!)", text)
    head = _HEAD.match(text)
    if head is None:
        raise RuntimeError(
            f'expected a schema such as "name(Tensor x, int n=1) -> Tensor", but got: {text}'
        )
    name, overload, arguments, results = head.groups()
    if results[0] == "(" and results[-1] == ")":
        results = results[1:-1]
    parsed: list[Argument] = []
    kwarg_only = False
    for part in _split(arguments):
        if part == "*":
            kwarg_only = True
        else:
            parsed.append(_argument(part, text)._replace(kwarg_only=kwarg_only))
    returns = tuple(_argument(part, text) for part in _split(results))
    return FunctionSchema(name, overload or "", tuple(parsed), returns)


def _split(text: str) -> list[str]:
    """The parts between the commas outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str, schema: str) -> Argument:
    match = _ARGUMENT.match(text)
    if match is None:
        raise RuntimeError(
            f"expected an argument such as 'Tensor x', but got {text!r} in: {schema}"
        )
    alias = None
    if match["alias"]:
        names = match["alias"].split("->")[0].strip()
        alias = Alias(frozenset(re.findall(r"\$?\w+", names)), "!" in names)
    sizes = re.sub(r"\([^)]*\)", "", match["suffix"])
    suffix = re.sub(r"\d", "", sizes)
    kind = {"SymInt": "int"}.get(match["kind"], match["kind"]) + suffix
    default = match["default"]
    value = None if default is None else _default(default.strip(), kind)
    declared = match["kind"] + sizes
    return Argument(match["name"] or "", kind, value, default is not None, False, alias, declared)


_WORDS = {"None": None, "True": True, "False": False, "Mean": 1, "contiguous_format": 0}


def _default(text: str, kind: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return float(text) if text in ("inf", "-inf", "nan") else text
    return float(value) if kind.startswith("float") and type(value) is int else value


def _default_text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_default_text, value))}]"
    if isinstance(value, float) and math.isfinite(value):
        digits = f"{value:.17g}"
        return digits if "." in digits or "e" in digits else f"{digits}."
    return f'"{value}"' if isinstance(value, str) else repr(value)


def accepts(kind: str, value: Any) -> bool:
    """Whether a value is of a type."""
    if kind.endswith("?"):
        return value is None or accepts(kind[:-1], value)
    if kind.endswith("[]"):
        if not isinstance(value, (list, tuple)):
            return False
        return all(accepts(kind[:-2], element) for element in value)
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if isinstance(value, Tensor) and value.ndim == 0 and kind in ("int", "float", "Scalar"):
        return False
    return _is_plain(kind, value)


def _is_plain(kind: str, value: Any) -> bool:
    boolean = isinstance(value, (bool, np.bool_))
    if kind == "bool":
        return boolean
    if kind == "int":
        return isinstance(value, (int, np.integer)) and not boolean
    if kind == "float":
        return isinstance(value, (float, int, np.floating, np.integer)) and not boolean
    if kind == "Scalar":
        return isinstance(value, (int, float, complex, np.number, np.bool_))
    if kind == "str":
        return isinstance(value, str)
    if kind == "ScalarType":
        return isinstance(value, dtype) or value in (int, float, bool, complex)
    if kind == "Generator":
        return isinstance(value, Generator)
    return kind not in ("Tensor",)  # devices, layouts, memory formats: what takes them checks


def equal(a: Any, b: Any) -> bool:
    """Whether an argument has the value of its default."""
    if a is b:
        return True
    if isinstance(a, Tensor) or isinstance(b, Tensor) or type(a) is not type(b):
        return False
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)
