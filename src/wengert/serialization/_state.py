"""The state of objects from files: what a file may set, and how values are shown in errors."""

from __future__ import annotations

from collections.abc import Iterable
from pickle import UnpicklingError
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MemberDescriptorType,
    MethodDescriptorType,
    NoneType,
    WrapperDescriptorType,
)
from typing import Any

# Methods, which attributes of an object would hide. (Properties hide those.)
_METHODS = (
    BuiltinFunctionType, ClassMethodDescriptorType, FunctionType, MethodDescriptorType,
    WrapperDescriptorType, classmethod, staticmethod,
)  # fmt: skip
_LONGEST = 100


def short_repr(value: Any) -> str:
    """A value of a file in an error: it may be deep, or large, or both."""
    if type(value) in (str, bytes):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."
    if type(value) is int and value.bit_length() > 4 * _LONGEST:
        return f"an int of {value.bit_length()} bits"
    plain = type(value) in (bool, int, float, NoneType)
    return repr(value) if plain else f"a value of {type(value)}"


def check_names(kind: type, names: Iterable[Any]) -> None:
    """Raise UnpicklingError for attributes that would stand in the place of methods.

    Fields of dataclasses may be set, also those whose default is a function.
    """
    fields = getattr(kind, "__dataclass_fields__", ())
    for name in names:
        if type(name) is not str:
            raise UnpicklingError(
                f"attribute {short_repr(name)} of {kind} cannot be set: it is no name"
            )
        if name not in fields and isinstance(_of_class(kind, name), _METHODS):
            raise UnpicklingError(
                f"attribute {short_repr(name)} of {kind} cannot be set: it is a method"
            )


def set_slots(value: Any, slots: dict[Any, Any]) -> None:
    """Set what the class of an object has in its `__slots__`; UnpicklingError for other names."""
    for name, item in slots.items():
        slot = _of_class(type(value), name) if type(name) is str else None
        # Classes of C have members of that type, too.
        if type(slot) is not MemberDescriptorType or "__slots__" not in vars(slot.__objclass__):
            raise UnpicklingError(f"{type(value)} has no slot {short_repr(name)}")
        slot.__set__(value, item)


def _of_class(kind: type, name: str) -> Any:
    """What a class has under a name, as it stands there."""
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)
