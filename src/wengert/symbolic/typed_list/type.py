"""The type of lists."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.graph import Constant, Type, Variable


class TypedListType(Type):
    """Lists of values of a type.

    Args:
        ttype: the type of the elements, which may be a list's as well.
        depth: how many further lists stand around each element.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.typed_list import TypedListType
    >>> TypedListType(T.dvector).filter([[1.0, 2.0]])
    [array([1., 2.])]
    """

    variable_class: type[Variable] = Variable
    constant_class: type[Constant] = Constant

    def __init__(self, ttype: Any, depth: int = 0) -> None:
        if depth < 0:
            raise ValueError(f"TypedListType: depth must be 0 or more, got {depth}")
        ttype = getattr(ttype, "type", ttype) if not isinstance(ttype, Type) else ttype
        if not isinstance(ttype, Type):
            raise TypeError(f"TypedListType: expected a Type, got {ttype!r}")
        self.ttype: Any = ttype if depth == 0 else TypedListType(ttype, depth - 1)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """A list of fitting values; TypeError for anything else."""
        if strict and not isinstance(value, list):
            raise TypeError(f"{self}: expected a list, got {value!r}")
        return [self.ttype.filter(v, strict, allow_downcast) for v in value]

    def values_eq(self, a: Any, b: Any) -> bool:
        """Whether two lists have equal elements."""
        return len(a) == len(b) and all(
            self.ttype.values_eq(x, y) for x, y in zip(a, b, strict=True)
        )

    def get_depth(self) -> int:
        """How many lists stand around the innermost elements, less one."""
        return self.ttype.get_depth() + 1 if isinstance(self.ttype, TypedListType) else 0

    def make_variable(self, name: str | None = None) -> Variable:
        """A variable with the methods of lists."""
        return self.variable_class(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> Constant:
        """A constant with the methods of lists."""
        return self.constant_class(self, value, name)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.ttype == self.ttype

    def __hash__(self) -> int:
        return hash((type(self), self.ttype))

    def __repr__(self) -> str:
        return f"TypedList <{self.ttype}>"
