"""How a program has written the call of an operation: as an operator, a method or a function."""

from __future__ import annotations

import dis
import operator
import os
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

import wengert
from wengert.core.fronts import FILE
from wengert.core.tensor import Tensor
from wengert.replay.places import ends_of

# What stands between a program and a mode that answers.
_CORE = os.path.join(os.path.dirname(wengert.__file__), "")
_BETWEEN = frozenset({
    FILE, *[_CORE + name.replace("/", os.sep) for name in (
        "core/overriding.py", "core/fronts.py", "ops/operators.py", "fx/captured/recording.py",
    )],
})  # fmt: skip
_NAMES = {
    "div": "truediv", "true_divide": "truediv", "divide": "truediv", "remainder": "mod",
    "floor_divide": "floordiv", "bitwise_and": "and_", "bitwise_or": "or_", "and": "and_",
    "bitwise_xor": "xor", "or": "or_", "bitwise_not": "invert", "logical_not": "invert",
    "negative": "neg", "subtract": "sub", "multiply": "mul", "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift", "pos": "pos", "positive": "pos",
}  # fmt: skip
_OPERATORS = {
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
    "lshift", "rshift", "neg", "invert", "pos", "lt", "le", "gt", "ge", "eq", "ne", "getitem",
    "setitem",
}  # fmt: skip
_INSTRUCTIONS = ("BINARY_", "COMPARE_OP", "UNARY_", "STORE_SUBSCR", "STORE_SLICE")
_PROPERTIES: dict[int, str] = {}


def callers_frame(frame: FrameType) -> FrameType:
    """The first frame from one outwards that is not of what calls go through."""
    while frame.f_code.co_filename in _BETWEEN and frame.f_back is not None:
        frame = frame.f_back
    return frame


def property_of(func: Any) -> tuple[str, str] | None:
    """What a mode is given for an attribute of tensors: its name, and ``__get__`` or another."""
    owner = getattr(func, "__self__", None)
    if not isinstance(owner, property):
        return None
    if not _PROPERTIES:
        for kind in reversed(Tensor.__mro__):
            _PROPERTIES.update({id(x): n for n, x in vars(kind).items() if type(x) is property})
    return _PROPERTIES.get(id(owner), "?"), func.__name__


Spelled = tuple[str, Callable[..., Any] | str, tuple[Any, ...]]


def spelled(func: Callable[..., Any], args: tuple[Any, ...], frame: FrameType) -> Spelled:
    """The kind of the call that a frame makes of a function, its target, and its arguments."""
    code = frame.f_code
    start, _ = ends_of(code, frame.f_lasti)
    instructions = list(dis.get_instructions(code))
    at = next((k for k, i in enumerate(instructions) if i.offset == start), 0)
    here = instructions[at]
    if here.opname.startswith(_INSTRUCTIONS):
        return _operator(func, args, here)
    name = func.__name__
    if name in ("__getitem__", "__setitem__"):
        return "call_function", getattr(operator, name.strip("_")), args
    if args and isinstance(args[0], Tensor) and _is_method(name, instructions[:at], frame):
        return "call_method", name, args
    return "call_function", func, args


def _operator(func: Any, args: tuple[Any, ...], here: dis.Instruction) -> Spelled:
    name = func.__name__.strip("_")
    writes = here.opname == "BINARY_OP" and here.argrepr.endswith("=")
    if writes and name.startswith("i") and name not in ("invert",):
        name = name[1:]
    if func.__name__.startswith("__r") and _known(name[1:]):
        name, args = name[1:], args[::-1]
    known = _known(name)
    if known is None:
        return "call_function", func, args
    if writes:
        known = "i" + known.removesuffix("_")
        known = {"iand": "iand", "ior": "ior"}.get(known, known)
    return "call_function", getattr(operator, known), args


def _known(name: str) -> str | None:
    name = _NAMES.get(name, name)
    return name if name in _OPERATORS else None


def _is_method(name: str, before: list[dis.Instruction], frame: FrameType) -> bool:
    """Whether what is called was looked up as an attribute of something that is no module."""
    for k in range(len(before) - 1, -1, -1):
        one = before[k]
        if one.argval == name and one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            return not isinstance(_value(before[:k], frame), ModuleType)
        if one.argval == name and one.opname.startswith("LOAD_"):
            return False
    return name.endswith("_")


def _value(before: list[dis.Instruction], frame: FrameType) -> Any:
    """What the last instructions load, if they are names and attributes of modules; else None."""
    if not before:
        return None
    one = before[-1]
    if one.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF"):
        return {**frame.f_globals, **frame.f_locals}.get(one.argval)
    if one.opname == "LOAD_ATTR":
        owner = _value(before[:-1], frame)
        return getattr(owner, one.argval, None) if isinstance(owner, ModuleType) else None
    return None


def place_of(frame: FrameType) -> tuple[CodeType, int]:
    """The code of a frame, and where it is."""
    return frame.f_code, frame.f_lasti
