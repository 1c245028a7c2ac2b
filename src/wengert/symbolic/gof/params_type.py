"""``theano.gof.params_type``: what operations are given when they run, beside their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.symbolic.graph import Type
from wengert.symbolic.scalar.basic import ScalarType


class Params(dict[str, Any]):
    """Values by the names of a `ParamsType`; they are attributes, too, and cannot be changed."""

    def __init__(self, params_type: ParamsType, **values: Any) -> None:
        missing = [name for name in params_type.fields if name not in values]
        if missing:
            raise TypeError(f"Params: no value for {missing}; the fields are {params_type.fields}")
        super().__init__({name: values[name] for name in params_type.fields})
        self.__dict__["__params_type__"] = params_type

    def __eq__(self, other: object) -> bool:
        own = self.__dict__["__params_type__"]
        if not isinstance(other, Params) or own != other.__dict__["__params_type__"]:
            return False
        return all(kind.values_eq(self[name], other[name]) for name, kind in own.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        own = self.__dict__["__params_type__"]
        arrays = [(np.asarray(self[n]).shape, np.asarray(self[n]).tobytes()) for n in own.fields
                  if isinstance(self[n], np.ndarray | np.generic)]  # fmt: skip
        others = [self[n] for n in own.fields if not isinstance(self[n], np.ndarray | np.generic)]
        return hash((own, *arrays, *others))

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"Params: attribute {name!r} does not exist.")
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotImplementedError("Params is immutable")

    def __setitem__(self, name: str, value: Any) -> None:
        raise NotImplementedError("Params is immutable")

    def __delitem__(self, name: str) -> None:
        raise NotImplementedError("Params is immutable")


class ParamsType(Type):
    """The type of an operation's parameters: a type for each name.

    An operation that has one as its `params_type` finds its own attributes of these names in the
    last argument of `perform`.

    >>> from wengert.symbolic import Apply, Op, function, gof, scalar
    >>> from wengert.symbolic import tensor as T
    >>> class Line(Op):
    ...     __props__ = ("a", "b")
    ...     params_type = gof.ParamsType(a=scalar.float64, b=scalar.float64)
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    ...     def perform(self, node, inputs, output_storage, params):
    ...         output_storage[0][0] = params.a * inputs[0] + params.b
    >>> x = T.dvector("x")
    >>> function([x], Line(2.0, 1.0)(x))([1.0, 2.0])
    array([3., 5.])
    """

    def __init__(self, **types: Any) -> None:
        if not types:
            raise ValueError("Cannot create ParamsType from empty data.")
        for name, kind in types.items():
            if not isinstance(kind, Type):
                raise TypeError(
                    f"ParamsType: attribute {name!r} should inherit from Type, got {kind!r}"
                )
        enums = [n for t in types.values() if isinstance(t, EnumType) for n in t.names()]
        again = sorted({n for n in enums if enums.count(n) > 1})
        if again:
            raise AttributeError(f"ParamsType: several enum types have the constants {again}")
        self.fields = tuple(sorted(types))
        self.types = tuple(types[name] for name in self.fields)
        self.length = len(self.fields)

    def items(self) -> list[tuple[str, Any]]:
        """Pairs of a name and its type, by name."""
        return list(zip(self.fields, self.types, strict=True))

    def has_type(self, theano_type: Any) -> bool:
        """Whether a field has this type."""
        return theano_type in self.types

    def get_type(self, field_name: str) -> Any:
        """The type of a field."""
        return dict(self.items())[field_name]

    def get_field(self, theano_type: Any) -> str:
        """The first field of a type."""
        return self.fields[self.types.index(theano_type)]

    def get_enum(self, key: str) -> Any:
        """The constant of this name, of a field that has an `EnumType`."""
        for kind in self.types:
            if isinstance(kind, EnumType) and key in kind:
                return kind[key]
        raise KeyError(f"ParamsType: no enum type has a constant {key!r}")

    def enum_from_alias(self, alias: str) -> Any:
        """The constant that has this other name, or this name."""
        for kind in self.types:
            if isinstance(kind, EnumType) and kind.has_alias(alias):
                return kind.fromalias(alias)
        return self.get_enum(alias)

    def extended(self, **types: Any) -> ParamsType:
        """This type with further fields."""
        return ParamsType(**dict(self.items()), **types)

    def get_params(self, *objects: Any, **values: Any) -> Params:
        """Values from the attributes of objects, or by name."""
        found = dict(values)
        for name in self.fields:
            holder = next((o for o in objects if hasattr(o, name)), None)
            if holder is not None:
                found[name] = getattr(holder, name)
        return self._fitted(found, False, True)

    def _fitted(self, values: Any, strict: bool, allow_downcast: bool | None) -> Params:
        fitted = {}
        for name, kind in self.items():
            if name in values:
                value = kind.filter(values[name], strict=strict, allow_downcast=allow_downcast)
                fitted[name] = value[()] if isinstance(kind, ScalarType) else value
        return Params(self, **fitted)

    def __getattr__(self, name: str) -> Any:
        """A constant of a field that has an `EnumType`."""
        for kind in self.__dict__.get("types", ()):
            if isinstance(kind, EnumType) and name in kind:
                return kind[name]
        raise AttributeError(f"ParamsType: neither a field nor a constant is called {name!r}")

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Values of these fields; TypeError for anything else."""
        if strict and not isinstance(value, Params):
            raise TypeError(f"ParamsType: expected an instance of Params, got {value!r}")
        if isinstance(value, Mapping):
            return self._fitted(value, strict, allow_downcast)
        return self.get_params(value)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Whether all fields are equal."""
        return all(kind.values_eq(a[name], b[name]) for name, kind in self.items())

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Whether all fields are nearly equal."""
        for name, kind in self.items():
            pair = (a[name], b[name])
            if isinstance(kind, ScalarType):
                pair = (np.asarray(a[name]), np.asarray(b[name]))
            if not kind.values_eq_approx(*pair):
                return False
        return True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.items() == other.items()

    def __hash__(self) -> int:
        return hash((type(self), *self.items()))

    def __repr__(self) -> str:
        return f"ParamsType<{', '.join(f'{name}:{kind}' for name, kind in self.items())}>"


class EnumType(Type):
    """The type of a parameter that has one of some named values.

    >>> from wengert.symbolic import gof
    >>> modes = gof.EnumType(VALID=0, FULL=2)
    >>> modes.FULL, modes.filter("VALID")
    (2, 0)
    """

    def __init__(self, **values: Any) -> None:
        for name in values:
            if not name.isidentifier() or name != name.upper():
                raise AttributeError(
                    f"{type(self).__name__}: invalid enum name: {name!r}. Only capital letters,"
                    " underscores and digits are allowed."
                )
        self._constants = {k: int(v) if isinstance(v, bool) else v for k, v in values.items()}
        self.aliases: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        constants = self.__dict__.get("_constants", {})
        if name not in constants:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return constants[name]

    def __contains__(self, name: str) -> bool:
        return name in self._constants

    def names(self) -> list[str]:
        """The names of constants and their other names."""
        return [*self._constants, *self.aliases]

    def __getitem__(self, name: str) -> Any:
        return self._constants[name]

    def __len__(self) -> int:
        return len(self._constants)

    def fromalias(self, alias: str) -> Any:
        """The value of the constant that has this other name."""
        return self._constants[self.aliases[alias]]

    def has_alias(self, alias: str) -> bool:
        """Whether a constant has this other name."""
        return alias in self.aliases

    def get_aliases(self) -> tuple[str, ...]:
        """The other names of constants."""
        return tuple(self.aliases)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """One of the values, or that of a name."""
        if not strict and isinstance(value, str):
            name = self.aliases.get(value, value)
            if name in self._constants:
                return self._constants[name]
        if value not in self._constants.values():
            raise ValueError(f"{type(self).__name__}: unknown enum value {value!r}: {self}")
        return value

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self._constants == other._constants
            and self.aliases == other.aliases
        )

    def __hash__(self) -> int:
        return hash((type(self), *self._constants.items(), *self.aliases.items()))

    def __repr__(self) -> str:
        listed = ", ".join(f"{k}:{v}" for k, v in self._constants.items())
        return f"{type(self).__name__}({listed})"


class EnumList(EnumType):
    """Constants numbered from 0: names, or pairs of a name and another name for it.

    >>> from wengert.symbolic import gof
    >>> modes = gof.EnumList("VALID", ("FULL", "full"))
    >>> modes.FULL, modes.fromalias("full")
    (1, 1)
    """

    def __init__(self, *names: Any, **options: Any) -> None:
        pairs = [(n, None) if isinstance(n, str) else tuple(n) for n in names]
        if len({name for name, _ in pairs}) < len(pairs):
            raise AttributeError(f"EnumList: some constants names are duplicated: {names}")
        super().__init__(**{name: k for k, (name, _) in enumerate(pairs)})
        self.aliases = {alias: name for name, alias in pairs if alias is not None}
