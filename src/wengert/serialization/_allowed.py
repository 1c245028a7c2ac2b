"""The names a checkpoint may refer to: the library's list, the program's additions, modules.

With ``weights_only=False`` a file may also hold modules and optimizers of wengert, and modules
of classes that the program has imported. They are created without `__init__`, and their
attributes set: of the program's classes, only `__new__` and `__setstate__` are called. Functions
in such a file may be operations; they are values, and loading never calls them.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pickle import UnpicklingError
from types import BuiltinFunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from wengert import nn, ops, optim
from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.core.tensor import Tensor
from wengert.nn.module import Module, optimized
from wengert.optim.optimizer import Optimizer
from wengert.serialization._names import (
    BUILDERS,
    KNOWN,
    FunctionName,
    modern,
    path_of,
    set_attributes,
)
from wengert.serialization._numpy import set_array, set_byte_order
from wengert.serialization._state import check_names, set_slots

# Names no file may refer to, even if a program allows them.
_BLOCKED = frozenset({"sys", "os", "posix", "nt", "subprocess", "importlib", "pickle", "_pickle"})
_PLAIN = (Namespace, SimpleNamespace)
_TORCH = "torch."

_safe: dict[Any, None] = {}


def add_safe_globals(
    safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]],
) -> None:
    """Allow `load` to use these classes and functions when a file names them.

    They are called with arguments from the file: add only what is safe with any.

    Args:
        safe_globals: classes and functions; or pairs of one and the dotted name that files
            have for it.

    >>> import io, wengert
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> wengert.save(Fraction(1, 3), file)
    >>> start = file.seek(0)
    >>> wengert.serialization.add_safe_globals([Fraction])
    >>> wengert.load(file)
    Fraction(1, 3)
    >>> wengert.serialization.clear_safe_globals()
    """
    _safe.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    """Return what `add_safe_globals` has added.

    >>> import wengert
    >>> wengert.serialization.get_safe_globals()
    []
    """
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has added.

    >>> import wengert
    >>> wengert.serialization.clear_safe_globals()
    """
    _safe.clear()


class safe_globals:  # noqa: N801 (PyTorch's name)
    """`add_safe_globals` for the duration of a `with` statement.

    >>> import wengert
    >>> from fractions import Fraction
    >>> with wengert.serialization.safe_globals([Fraction]):
    ...     print(wengert.serialization.get_safe_globals())
    [<class 'fractions.Fraction'>]
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals
        self._new: list[Any] = []

    def __enter__(self) -> None:
        self._new = [value for value in self._added if value not in _safe]
        try:
            add_safe_globals(self._added)
        except BaseException:
            self._remove()
            raise

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        call_despite_signals(self._remove)

    def _remove(self) -> None:
        for value in self._new:
            _safe.pop(value, None)


def _by_path(values: Iterable[Any]) -> dict[str, Any]:
    """What a program allows, by the name that files have for it."""
    by_path = {}
    for value in values:
        if isinstance(value, tuple):
            if len(value) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple"
                    f" of length: {len(value)}"
                )
            value, path = value
            if type(path) is not str:
                raise TypeError(
                    "Expected second item in tuple to be str of callable full path, but got:"
                    f" {type(path)}"
                )
        else:
            path = ".".join(path_of(value))
        by_path[path] = value
    return by_path


class Allowed:
    """What one call of `load` lets a pickle do, as `_machine.NameResolver` has it."""

    def __init__(self, weights_only: bool) -> None:
        self.weights_only = weights_only
        self.by_program = _by_path(_safe)
        self.callable = {id(value) for value in self.by_program.values()}

    def find(self, module: str, name: str) -> Any:
        """The value of a name, if it is allowed."""
        module, name = modern(module, name)
        path = f"{module}.{name}"
        entry = KNOWN.get(path)
        if entry is not None:
            return entry.value
        if module.partition(".")[0] in _BLOCKED:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked."
            )
        if path in self.by_program:
            value = self.by_program[path]
            if isinstance(value, BuiltinFunctionType) and value.__module__ == "builtins":
                raise UnpicklingError(f"Trying to load unsupported GLOBAL {path}: it is blocked.")
            return value
        value = None if self.weights_only else _class_of_program(module, name)
        if value is None:
            raise UnpicklingError(self._refusal(path))
        return value

    def _refusal(self, path: str) -> str:
        path = path.removeprefix("builtins.")
        among = "an allowed global by default"
        if not self.weights_only:
            among = "a class of modules that this program has imported, or an operation"
        return (
            f"Unsupported global: GLOBAL {path} was not {among}. If you trust it with any"
            f" arguments, use `torch.serialization.add_safe_globals([{path}])` or the"
            f" `torch.serialization.safe_globals([{path}])` context manager to allow it."
        )

    def call(self, machine: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Call a builder, or what the program has allowed."""
        build = BUILDERS.get(id(function))
        if build is not None:
            return build(machine, *arguments)
        if id(function) in self.callable and not isinstance(function, FunctionName):
            return machine.let(function, *arguments)
        if not self.weights_only and function is SimpleNamespace and not arguments:
            return SimpleNamespace()
        raise UnpicklingError(
            f"Trying to call reduce for unrecognized function {_repr_of_global(function)}"
        )

    def make(self, machine: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
        """A new object of a builder's class, or of an allowed one."""
        build = BUILDERS.get(id(kind))
        if build is not None:
            return build(machine, *arguments)
        if isinstance(kind, type):
            new: Any = kind.__new__
            if id(kind) in self.callable:
                return machine.let(new, kind, *arguments)
            if not self.weights_only and not arguments and _is_buildable(kind):
                return machine.let(new, kind)
        raise UnpicklingError(
            "Can only create new object for nn.Parameter or classes allowlisted via"
            f" `add_safe_globals` but got {_repr_of_global(kind)}"
        )

    def fill(self, machine: Any, value: Any, state: Any) -> None:
        """Set the state of an object."""
        kind = type(value)
        if kind is OrderedDict:
            set_attributes(machine, value, state)
        elif isinstance(value, np.dtype):
            set_byte_order(value, state)
        elif kind is np.ndarray:
            set_array(machine, value, state)
        elif id(kind) in self.callable or (not self.weights_only and _is_buildable(kind)):
            _set_state(machine, value, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via"
                f" `add_safe_globals`, but got {kind}"
            )


def _set_state(machine: Any, value: Any, state: Any) -> None:
    """As unpickling does, but for methods, properties and the class: no file sets those.

    A `__setstate__` of the program gets the state as it is.
    """
    kind = type(value)
    set_own = getattr(kind, "__setstate__", None)
    of_library = getattr(set_own, "__module__", "").startswith("wengert.")
    if set_own is not None and not of_library:
        machine.let(set_own, value, state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for namespace in (state, slots):
        if not (namespace is None or type(namespace) is dict):
            raise UnpicklingError(f"the state of an object is a dict, but got {type(namespace)}")
    machine.spend(len(state or ()) + len(slots or ()))
    check_names(kind, state or ())
    if set_own is not None:
        _set_library_state(set_own, value, state or {})
    elif state:
        if not hasattr(value, "__dict__"):
            raise UnpicklingError(f"{kind} has no attributes but those of its slots")
        value.__dict__.update(state)
    set_slots(value, slots or {})


def _set_library_state(set_own: Callable[..., None], value: Any, state: dict[str, Any]) -> None:
    try:
        set_own(value, state)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnpicklingError(f"the state of {type(value)} is damaged: {error}") from None


def _is_buildable(kind: type) -> bool:
    """Whether files with modules may have objects of this class."""
    if kind in _PLAIN:
        return True
    return issubclass(kind, Module | Optimizer) and not issubclass(kind, Tensor)


def _class_of_program(module: str, name: str) -> Any:
    """A class that modules are made of, or an operation; None for anything else.

    Nothing is imported: a file names what the program has.
    """
    if (module + ".").startswith(_TORCH):
        return _of_wengert(module, name)
    value: Any = sys.modules.get(module)
    for attribute in name.split("."):
        value = value.__dict__.get(attribute) if isinstance(value, ModuleType | type) else None
    return value if isinstance(value, type) and _is_buildable(value) else None


def _of_wengert(module: str, name: str) -> Any:
    home: Any = optim if module.startswith("torch.optim") else nn
    if module == "torch.nn.parallel.distributed":
        home = sys.modules.get("wengert.distributed.data_parallel", nn)
    if module == "torch._dynamo.eval_frame":
        home = optimized
    value = home.__dict__.get(name)
    if isinstance(value, type) and _is_buildable(value):
        return value
    home = ops if module == "torch" else nn.functional
    return home.__dict__[name] if name in home.__all__ else None


def _repr_of_global(value: Any) -> str:
    return repr(value) if isinstance(value, type | FunctionName) else f"of {type(value)}"
