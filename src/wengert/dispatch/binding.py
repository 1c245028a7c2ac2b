"""From a call of a function to the overload that PyTorch would run, and its arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.dispatch.overloads import OpOverload
from wengert.dispatch.schema import Argument, FunctionSchema, accepts, equal

Bound = tuple[tuple[Any, ...], dict[str, Any]]

# A number beside a tensor is one of these operations of two tensors as well.
OF_TENSORS = ("add", "div", "mul", "sub", "true_divide")
# What arguments are called here, and in schemas.
_SELF = ("input", "self")


def chosen(
    overloads: Iterable[OpOverload], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[OpOverload, Bound] | None:
    """The first overload that takes the arguments of a call, and how it is given them."""
    for overload in overloads:
        bound = bind(overload._schema, args, kwargs)
        if bound is not None:
            return overload, bound
    return None


def bind(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound | None:
    """The arguments as the schema has them, without defaults; None where they do not fit."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    values = _by_position(positional, args)
    if values is None:
        return None
    names = {a.name for a in schema.arguments}
    for name, value in kwargs.items():
        own = _own_name(name, names)
        if own in values:
            return None
        if own in names:
            values[own] = value
        elif value is not None and value is not False:
            return None
    numbers = schema.name.rpartition("::")[2].rstrip("_") in OF_TENSORS
    for k, argument in enumerate(schema.arguments):
        if argument.name not in values:
            if not argument.has_default and not argument.type.endswith("?"):
                return None
            continue
        fitted = _fitted(argument, values[argument.name], numbers and k == 1)
        if fitted is _UNFIT:
            return None
        values[argument.name] = fitted
    return _normal(schema, positional, values)


def _by_position(positional: list[Argument], args: tuple[Any, ...]) -> dict[str, Any] | None:
    """Arguments by name; sizes that are given one by one become a list."""
    values: dict[str, Any] = {}
    waiting = list(args)
    for argument in positional:
        if not waiting:
            break
        value = waiting.pop(0)
        if argument.type.startswith("int[]") and _is_int(value):
            value = [value]
            while waiting and _is_int(waiting[0]):
                value.append(waiting.pop(0))
        values[argument.name] = value
    return None if waiting else values


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _own_name(name: str, names: set[str]) -> str:
    if name in names:
        return name
    if name in _SELF:
        return next((n for n in _SELF if n in names), name)
    return name


_UNFIT = object()


def _fitted(argument: Argument, value: Any, numbers: bool) -> Any:
    kind = argument.type
    if kind.startswith("int[]") and value is not None:
        value = [value] if _is_int(value) else list(value) if isinstance(value, tuple) else value
    if accepts(kind, value):
        return value
    if value is None and argument.has_default:
        return argument.default_value
    if numbers and kind == "Tensor" and accepts("Scalar", value):
        return value
    if kind == "Scalar" and isinstance(value, Tensor) and value.ndim == 0:
        return _UNFIT
    return _UNFIT


def _normal(schema: FunctionSchema, positional: list[Argument], values: dict[str, Any]) -> Bound:
    ordered = [values.get(a.name, a.default_value) for a in positional]
    while ordered:
        last = positional[len(ordered) - 1]
        if not last.has_default or not equal(ordered[-1], last.default_value):
            break
        ordered.pop()
    named = {
        a.name: values[a.name]
        for a in schema.arguments
        if a.kwarg_only and a.name in values and not equal(values[a.name], a.default_value)
    }
    return tuple(ordered), named
