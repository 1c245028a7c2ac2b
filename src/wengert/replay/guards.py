"""What Python may have read in a call: as long as all of it is the same, it goes the same way.

A guard holds what can be reached from a function by the names that its code uses: globals, cells,
attributes, items of lists and dictionaries, the dictionaries of modules. It compares identities, so
a value that somebody has set again counts as another, be it equal.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import functools
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import resolve_name
from operator import contains, getitem, is_
from typing import Any, NamedTuple

import numpy as np

from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.layout import memory_format
from wengert.core.tensor import Tensor, internal, tensors
from wengert.replay.comparing import Compared, Watched, knows_tensors
from wengert.replay.deferred import Deferred
from wengert.replay.trace import Memo, input_of

_FieldOfTuple = type(NamedTuple("Pair", [("first", int)]).first)  # type: ignore[attr-defined]
# Values that never change, by type: to be the same object is enough.
_ATOMS = (
    type(None), bool, int, float, complex, str, bytes, range, slice, type(...),
    type(NotImplemented), np.dtype, np.generic, np.ufunc, enum.Enum, dtype, device, memory_format,
    re.Pattern, types.CodeType, property, staticmethod, classmethod, types.MemberDescriptorType,
    types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.MethodWrapperType, _FieldOfTuple,
    types.GenericAlias, dataclasses.Field,
)  # fmt: skip
_BUILTIN_TYPES = frozenset({
    bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice, zip,
    enumerate, map, filter, reversed, type, object, super, property, staticmethod, classmethod,
    types.SimpleNamespace, types.GenericAlias, functools.partial,
})  # fmt: skip
# Modules whose classes nobody changes.
_KNOWN_MODULES = frozenset({"itertools", "collections", "collections.abc", "abc", "enum", "typing"})
_PURE_MODULES = frozenset({"math", "cmath", "_operator", "itertools", "_functools"})
_PURE_BUILTINS = frozenset({
    "abs", "all", "any", "callable", "divmod", "getattr", "hasattr", "isinstance", "issubclass",
    "iter", "len", "max", "min", "next", "pow", "repr", "round", "setattr", "sorted", "sum", "vars",
    "__build_class__",
})  # fmt: skip
# Names of what reads attributes whose names are not in the code.
_ANY_NAME = frozenset({
    "getattr", "hasattr", "vars", "dir", "attrgetter", "__dict__", "__getattribute__", "eval",
    "exec", "globals", "locals",
})  # fmt: skip
# What runs when a module of the library is called.
_CALLED = frozenset({"__call__", "forward"})
_MOST_OBJECTS = 20_000
# What runs where an object of a class is used.
_CODE = (types.FunctionType, property, staticmethod, classmethod)


class UnguardedError(Exception):
    """Something whose state no guard can compare."""


def is_pure(function: Any) -> bool:
    """Whether a function or method of C changes nothing but its object, and reads nothing else."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, types.ModuleType):
        name = owner.__name__
        return name in _PURE_MODULES or (name == "builtins" and function.__name__ in _PURE_BUILTINS)
    if owner is None:
        return isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType)
    return (owner if isinstance(owner, type) else type(owner)) in _BUILTIN_TYPES


class Guard:
    """The state that some code can reach, as it was.

    Attributes:
        tensors: the tensors in it.
    """

    def __init__(self, root: Any, executed: Mapping[types.CodeType, dict[str, Any]]) -> None:
        self.tensors: dict[int, Any] = {}
        self._executed = executed
        self._names = _names_in(executed)
        self._met: dict[int, Any] = {}
        self._empty: list[Any] = []
        self._dicts: list[Any] = []
        self._lists: list[Any] = []
        self._items: list[tuple[Any, Any, Any]] = []
        self._absent: list[tuple[Any, Any]] = []
        self._disjoint: list[tuple[Any, frozenset[str]]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._functions: list[Any] = []
        self._objects: list[Any] = []
        self._members: list[tuple[Any, str, Any]] = []
        self._walk_all(root)
        self._freeze()

    def _walk_all(self, root: Any) -> None:
        """Note all that can be reached."""
        waiting = [root]
        for code, scope in self._executed.items():
            waiting += self._of_code(code, scope)
        while waiting:
            value = waiting.pop()
            if isinstance(value, _ATOMS) or id(value) in self._met:
                continue
            if len(self._met) > _MOST_OBJECTS:
                raise UnguardedError("more objects can be reached than are worth comparing")
            self._met[id(value)] = value
            waiting += self._of(value)
        reached = {f.__code__ for f in self._functions}
        inner = {c for code in self._executed for c in code.co_consts if _is_code(c)}
        for code in self._executed.keys() - reached - inner:
            if code.co_freevars:
                raise UnguardedError(f"the function {code.co_qualname}() is not found again")

    def _of(self, value: Any) -> Iterable[Any]:  # noqa: C901 (a case for each kind of object)
        """Note the state of one object; what it refers to."""
        kind = type(value)
        if isinstance(value, Tensor):
            return self._of_tensor(value)
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if isinstance(value, types.MethodType):
            return value.__func__, value.__self__
        if isinstance(value, types.ModuleType):
            return self._of_module(value)
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, types.BuiltinFunctionType | types.BuiltinMethodType):
            if not is_pure(value):
                raise UnguardedError(
                    f"{value.__qualname__}() may depend on more than its arguments"
                )
            return ()
        if isinstance(value, functools.partial):
            return value.func, value.args, value.keywords
        if isinstance(value, tuple | frozenset):
            return tuple(value) if kind in (tuple, frozenset) else (*value, kind)
        if isinstance(value, list):
            (self._lists if value else self._empty).append(value)
            return value if kind is list else (*value, *self._of_object(value))
        if isinstance(value, dict | types.MappingProxyType):
            (self._dicts if value else self._empty).append(value)
            inside = (*value, *value.values())
            return inside if kind in _PLAIN_DICTS else (*inside, *self._of_object(value))
        if isinstance(value, set):
            if value:
                raise UnguardedError(f"a set that holds {next(iter(value))!r}")
            self._empty.append(value)
            return ()
        return self._of_object(value)

    def _of_tensor(self, tensor: Tensor) -> Iterable[Any]:
        if type(tensor) not in tensors or type(tensor) is Deferred:
            raise UnguardedError(f"a tensor of type {type(tensor).__name__}")
        if type(tensor._array) is not np.ndarray:
            raise UnguardedError("a tensor without memory")
        self.tensors[id(tensor)] = tensor
        own = getattr(tensor, "__dict__", None)
        return () if own is None else self._of(own)

    def _of_function(self, function: Any) -> Iterable[Any]:
        if function.__code__.co_filename in internal or function.__code__ not in self._executed:
            return ()  # it has not run: to run, something else has to change
        self._functions.append(function)
        found = [*(function.__defaults__ or ()), function.__kwdefaults__]
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # an empty one: reading it is an error
            self._cells.append((cell, value))
            found.append(value)
        found += getattr(function, "__dict__", {}).values()
        return found

    def _of_code(self, code: types.CodeType, scope: dict[str, Any]) -> Iterable[Any]:
        """The globals that code reads, and the modules that it imports."""
        found = []
        instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        for k, instruction in enumerate(instructions):
            if instruction.opname == "IMPORT_NAME":
                level = instructions[k - 2].argval
                found += self._of_import("." * level + instruction.argval, scope)
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = instruction.argval
                if name in scope:
                    self._items.append((scope, name, scope[name]))
                    found.append(scope[name])
                else:
                    self._absent.append((scope, name))
        return found

    def _of_import(self, name: str, scope: dict[str, Any]) -> list[Any]:
        """The modules on the way to one that is imported."""
        parts = resolve_name(name, scope.get("__package__")).split(".")
        ways = [".".join(parts[: k + 1]) for k in range(len(parts))]
        if not sys.modules.keys() >= set(ways):
            raise UnguardedError(f"it imports {name}, which is not there")
        self._items += [(sys.modules, way, sys.modules[way]) for way in ways]
        return [sys.modules[way] for way in ways]

    def _of_namespace(self, own: Any, names: frozenset[str]) -> Iterable[Any]:
        """The values of some names, and that the others are not there."""
        present = [n for n in names if n in own]
        self._items += [(own, n, own[n]) for n in present]
        if isinstance(own, dict):
            self._disjoint.append((own, names.difference(present)))
        return [own[n] for n in present]

    def _of_module(self, module: types.ModuleType) -> Iterable[Any]:
        own = vars(module)
        if self._names is not None:
            return self._of_namespace(own, self._names)
        known = module.__name__.split(".")[0] in (*sys.stdlib_module_names, "numpy", "wengert")
        return () if known else self._of_namespace(own, frozenset(own))

    def _of_class(self, value: type) -> Iterable[Any]:
        if value in _BUILTIN_TYPES or issubclass(value, np.generic | BaseException):
            return ()
        if value.__module__ in _KNOWN_MODULES:
            return ()
        if value.__module__.split(".")[0] == "wengert":
            return self._of_namespace(vars(value), _CALLED & vars(value).keys())
        if not value.__flags__ & _HEAP_TYPE:
            raise UnguardedError(f"the class {value.__qualname__} is not known")
        own = vars(value)
        self._dicts.append(own)
        named = self._names_of(own) | _CALLED
        found = [
            _unwrapped(x)
            for n, x in own.items()
            if n in named or (n.startswith("__") and isinstance(x, _CODE))
        ]
        return (*found, *value.__bases__)

    def _of_object(self, value: Any) -> Iterable[Any]:
        kind = type(value)
        if not kind.__flags__ & _HEAP_TYPE and kind is not types.SimpleNamespace:
            raise UnguardedError(f"an object of type {kind.__qualname__}")
        self._objects.append(value)
        found: list[Any] = [kind]
        for base in kind.__mro__:
            for name in getattr(base, "__slots__", ()):
                if hasattr(value, name) and not name.startswith("__"):
                    self._members.append((value, name, getattr(value, name)))
                    found.append(getattr(value, name))
        own = getattr(value, "__dict__", None)
        if own is None:
            return found
        if hasattr(value, "_parameters") and hasattr(value, "_modules"):  # a module
            self._dicts.append(own)
            named = self._names_of(own)
            return (*found, *(v for n, v in own.items() if n in named or n.startswith("_")))
        return (*found, *self._of_namespace(own, self._names_of(own)))

    def _names_of(self, own: Any) -> frozenset[str]:
        """The names of a namespace that code may read."""
        return frozenset(own) if self._names is None else self._names

    def _freeze(self) -> None:
        """What is compared, in the form in which it is compared."""
        self._scopes, self._of_scopes, self._globals = _columns(self._items, 3)
        self._without, self._missing = _columns(self._absent, 2)
        memos = [(Memo(input_of(x)), x) for x in self.tensors.values()]
        self._all = Compared(
            self._empty, self._dicts, self._lists, self._objects, memos, self._cells,
            self._functions, self._members,
        )  # fmt: skip
        self._watched: Watched | None = None
        if knows_tensors():
            scopes = (*self._scopes, *self._without, *[own for own, _ in self._disjoint])
            self._watched = Watched(self._all, [*{id(x): x for x in scopes}.values()])

    def has(self, x: Any) -> bool:
        """Whether an object is among what can be reached."""
        return self._met.get(id(x)) is x

    def holds(self, apart: Sequence[Any]) -> bool:
        """Whether all is as it was, and none of the tensors is among those `apart`."""
        if apart and not self.tensors.keys().isdisjoint(map(id, apart)):
            return False
        watched = self._watched
        try:
            if watched is None:
                return self._all.same() and self._has_same_names()
            if not watched.same():
                if not self._all.same():
                    return False
                self._watched = watched = watched.renewed()
            if watched is not None and watched.has_same_scopes():
                return True
            if not self._has_same_names():
                return False
        except (KeyError, ValueError):  # what was there is not
            return False
        if watched is not None:
            watched.renew_scopes()
        return True

    @property
    def quiet(self) -> bool:
        """Whether it has found that nobody listens at the leaves among its tensors."""
        return self._watched is not None and self._watched.quiet

    def _has_same_names(self) -> bool:
        """Whether names in dictionaries have the same values; KeyError if one has none."""
        return (
            all(map(is_, map(getitem, self._scopes, self._of_scopes), self._globals))
            and not any(map(contains, self._without, self._missing))
            and all([own.keys().isdisjoint(names) for own, names in self._disjoint])
        )


_HEAP_TYPE = 1 << 9
_PLAIN_DICTS = frozenset({
    dict, types.MappingProxyType,
    *[k for k in dict.__subclasses__() if k.__module__ == "collections"],
})  # fmt: skip


def _columns(rows: list[Any], count: int) -> Any:
    return [*zip(*rows, strict=True)] if rows else [()] * count


def _is_code(value: Any) -> bool:
    return isinstance(value, types.CodeType)


def _unwrapped(value: Any) -> Any:
    """The function in a descriptor of a class."""
    if isinstance(value, property):
        return tuple(f for f in (value.fget, value.fset) if f is not None)
    return getattr(value, "__func__", value)


def _names_in(codes: Iterable[types.CodeType]) -> frozenset[str] | None:
    """The names by which code can reach attributes; None if it can by any."""
    names: set[str] = set()
    for code in codes:
        names.update(code.co_names)
        names.update([x for x in code.co_consts if isinstance(x, str)])
    return None if names & _ANY_NAME else frozenset(names)
