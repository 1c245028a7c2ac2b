"""The parts of objects, read without running any of their code.

A class may define `__getattr__`, `__class__`, `__dict__`, `__iter__`, `__eq__` or `__repr__`
arbitrarily, so types are read with `type()`, containers through the methods of the built-in
class, and attributes through the descriptors created by the interpreter.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import threading
import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

CONTAINERS = (dict, list, tuple, deque, set, frozenset)
GENERATORS = {
    types.GeneratorType: ("gi", "generator"),
    types.CoroutineType: ("cr", "coroutine"),
    types.AsyncGeneratorType: ("ag", "asynchronous generator"),
}
LOCAL = threading.local
CACHED: type = type(functools.lru_cache(lambda: None))

_PLAIN = (str, int, float, bool, bytes, type(None))  # keys shown literally
# The dicts in which modules store their attributes.
_OF_MODULES = {"_modules", "_parameters", "_buffers"}
# Attributes with a different public name.
_NAMES = {"_grad": "grad", "_root": "_base"}

_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)  # the interpreter's own

_mro = type.__dict__["__mro__"].__get__
_vars = type.__dict__["__dict__"].__get__
_name = type.__dict__["__name__"].__get__
_module = type.__dict__["__module__"].__get__
_dtype = np.ndarray.__dict__["dtype"].__get__


@dataclass(frozen=True, slots=True)
class PathStep:
    """The step from an object to one of its parts.

    Attributes:
        text: how a program writes it after the object: ``.hidden``, ``[3]``.
        name: the attribute, or the key of a dict if it is a string.
        container: the kind of container stepped into, if any.
        owner: the class of the object with the attribute; None for variables of functions.
    """

    text: str
    name: str = ""
    container: str = ""
    owner: type | None = None

    @property
    def is_attribute(self) -> bool:
        """Whether a program can assign to it as to an attribute."""
        return self.owner is not None


AS_KEY = PathStep(" (a key)", container="dict")


def is_a(obj: Any, kinds: type | tuple[type, ...]) -> bool:
    """`isinstance`, without reading the object's `__class__`."""
    return issubclass(type(obj), kinds)


def class_name(kind: type) -> str:
    """The name of a class."""
    name: str = _name(kind)
    return name


def module_of(kind: type) -> str:
    """The module of a class."""
    return str(_module(kind))


def class_variables(kind: type) -> dict[str, Any]:
    """The variables in the body of a class."""
    return dict(_vars(kind))


def bases_of(kind: type) -> tuple[type, ...]:
    """A class and its base classes."""
    bases: tuple[type, ...] = _mro(kind)
    return bases


def attribute_step(name: str, owner: type | None = None) -> PathStep:
    """The step to an attribute."""
    name = _NAMES.get(name, name)
    return PathStep(f".{name}", name, owner=owner)


def attribute_path(
    step: PathStep, owner: type, following: tuple[PathStep, ...]
) -> tuple[PathStep, ...]:
    """The path to an attribute stored in an object's dict under the key of a step."""
    inner = following[0].name if following else ""
    if step.name in _OF_MODULES and following and following[0].container and inner:
        own = attribute_step(inner, owner) if inner.isidentifier() else PathStep(f"[{inner}]")
        return (own, *following[1:])
    return (attribute_step(step.name, owner), *following)


def key_step(key: Any, kind: type) -> PathStep:
    """The step to the value of a dict under a key."""
    return PathStep(f"[{_written(key)}]", key if type(key) is str else "", class_name(kind))


def _written(key: Any) -> str:
    kind = type(key)
    if kind in _PLAIN:
        return repr(key)
    if kind is tuple:
        inner = ", ".join(map(_written, key))
        return f"({inner},)" if len(key) == 1 else f"({inner})"
    if issubclass(kind, enum.Enum):
        return f"{class_name(kind)}.{object.__getattribute__(key, '__dict__').get('_name_')}"
    return f"<{class_name(kind)}>"


def parts_of(obj: Any) -> Iterator[tuple[PathStep, Any]]:
    """The parts of an object, each with its step."""
    kind = type(obj)
    if kind in GENERATORS:
        frame = getattr(obj, f"{GENERATORS[kind][0]}_frame")
        yield from (
            []
            if frame is None
            else ((attribute_step(name), value) for name, value in variables_of(frame))
        )
        return
    if issubclass(kind, CONTAINERS):
        yield from _contents(obj, kind)
    elif is_of_objects(obj):
        yield from _elements(obj, kind)
    if kind not in CONTAINERS:
        yield from _attributes(obj, kind)


def _contents(obj: Any, kind: type) -> Iterator[tuple[PathStep, Any]]:
    base = next(base for base in CONTAINERS if issubclass(kind, base))
    if base is dict:
        for key, value in list(dict.items(obj)):
            yield key_step(key, kind), value
            if type(key) not in _PLAIN:
                yield AS_KEY, key
        return
    container = class_name(kind)
    fields = _fields_of(kind) if base is tuple else ()
    ordered = base in (list, tuple, deque)
    for index, value in enumerate(list(base.__iter__(obj))):
        if index < len(fields):
            yield attribute_step(fields[index], kind), value
        else:
            yield PathStep(f"[{index}]" if ordered else " (in the set)", container=container), value


def _fields_of(kind: type) -> tuple[str, ...]:
    """The names of a named tuple's items."""
    names = "__match_args__"
    fields = next((_vars(base)[names] for base in _mro(kind) if names in _vars(base)), ())
    plain = type(fields) is tuple and all(type(name) is str for name in fields)
    return fields if plain else ()


def is_of_objects(obj: Any) -> bool:
    """Whether an object is an array of references."""
    return is_a(obj, np.ndarray) and bool(_dtype(obj).kind == "O")


def _elements(array: Any, kind: type) -> Iterator[tuple[PathStep, Any]]:
    plain = np.ndarray.view(array, np.ndarray)
    for index, value in np.ndenumerate(plain):
        yield PathStep(f"[{', '.join(map(str, index))}]", container=class_name(kind)), value


def _attributes(obj: Any, kind: type) -> Iterator[tuple[PathStep, Any]]:
    for name, value in list(dict.items(namespace_of(obj) or {})):
        yield attribute_step(str(name), kind), value
    for base in bases_of(kind):
        for name, member in class_variables(base).items():
            if type(member) is types.MemberDescriptorType and name != "__dict__":
                try:
                    yield attribute_step(name, kind), member.__get__(obj, kind)
                except AttributeError:  # not set
                    continue


def namespace_of(obj: Any) -> dict[str, Any] | None:
    """The attributes of an object, if it stores them in a readable dict."""
    kind = type(obj)
    for base in bases_of(kind):
        member = _vars(base).get("__dict__")
        if type(member) in _DESCRIPTORS and base is not type:
            namespace = member.__get__(obj, kind)
            return namespace if type(namespace) is dict else None
    return None


def variables_of(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The local variables of a call."""
    variables = frame.f_locals
    items = list(variables.items())
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        # A copy, which the frame keeps alive with its contents.
        if sys.getrefcount(variables) <= _UNSHARED and frame.f_trace is None:
            variables.clear()
        else:  # it was read before, and may contain itself by now
            for name in [name for name, value in items if value is variables]:
                del variables[name]
    return items


def _unshared() -> int:
    """`getrefcount` in `variables_of` of a copy that only the frame and it refer to."""
    variables = sys._getframe().f_locals
    return sys.getrefcount(variables)


_UNSHARED = _unshared()


def default_of(function: types.FunctionType, step: PathStep, container: Any) -> str | None:
    """The parameter whose default is in `container`, which the function refers to."""
    if container is function.__kwdefaults__:
        return step.name
    defaults = function.__defaults__
    if container is not defaults or defaults is None:
        return None
    code = function.__code__
    index = int(step.text.strip("[]"))
    return code.co_varnames[code.co_argcount - len(defaults) + index]


def closed_over(function: types.FunctionType, cell: types.CellType) -> str | None:
    """The variable of a function stored in a cell."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return next((name for name, one in cells if one is cell), None)
