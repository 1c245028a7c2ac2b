"""Operations on lists. None of them changes a list: they give another one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, is_discrete
from wengert.symbolic.graph import Apply, Constant, Operation, Variable
from wengert.symbolic.settings import config
from wengert.symbolic.tensor.type_other import SliceType
from wengert.symbolic.typed_list.type import TypedListType


class _ListOperation(Operation):
    """What the operations have in common."""

    __props__: tuple[str, ...] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace

    def _checked(self, x: Any, *elements: Any) -> list[Any]:
        """A list and what belongs into it, or AssertionError, as programs expect it."""
        if not isinstance(x, Variable) or not isinstance(x.type, TypedListType):
            raise AssertionError(f"{self}: expected a list, got {x!r}")
        for element in elements:
            if element.type != x.type.ttype:
                raise AssertionError(
                    f"{self}: a list of {x.type.ttype} cannot have {element} of {element.type}"
                )
        return [x, *elements]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Not differentiable."""
        return [[False] for _ in node.inputs]

    def __str__(self) -> str:
        return type(self).__name__


def _position(index: Any) -> Any:
    """An index as a variable; an error unless it is a scalar of int64."""
    if not isinstance(index, Variable):
        return as_tensor_variable(np.asarray(index, np.int64))
    if getattr(index, "ndim", 0):
        raise TypeError(f"Expected scalar or slice as index, and {index} is {index.type}")
    if not is_discrete(index) or index.type != TensorType("int64", ()):
        raise AssertionError(f"an index of a list is a scalar of int64, {index} is {index.type}")
    return index


class GetItem(_ListOperation):
    """An element, or the list of those in a slice."""

    __props__ = ()

    def __init__(self) -> None:
        super().__init__()

    def make_node(self, x: Any, index: Any) -> Apply:
        """`index` is an integer or a slice, or a variable of either."""
        self._checked(x)
        if isinstance(index, slice):
            index = Constant(SliceType(), index)
        if isinstance(index, Variable) and isinstance(index.type, SliceType):
            return Apply(self, [x, index], [x.type()])
        return Apply(self, [x, _position(index)], [x.type.ttype()])

    def compute(self, x: Any, index: Any) -> Any:
        """Python's; IndexError beyond the end."""
        return x[index] if isinstance(index, slice) else x[int(index)]


class Append(_ListOperation):
    """The list with an element behind it."""

    def make_node(self, x: Any, toAppend: Any) -> Apply:  # noqa: N803
        """An element of the list's type."""
        return Apply(self, self._checked(x, toAppend), [x.type()])

    def compute(self, x: Any, element: Any) -> Any:
        """Another list."""
        return [*x, copy.copy(element)]


class Extend(_ListOperation):
    """The list with those of another behind it."""

    def make_node(self, x: Any, toAppend: Any) -> Apply:  # noqa: N803
        """Two lists of one type."""
        self._checked(x)
        if toAppend.type != x.type:
            raise AssertionError(f"{self}: {x.type} cannot be extended by {toAppend.type}")
        return Apply(self, [x, toAppend], [x.type()])

    def compute(self, x: Any, others: Any) -> Any:
        """Another list."""
        return [*x, *map(copy.copy, others)]


class Insert(_ListOperation):
    """The list with an element before that at an index."""

    def make_node(self, x: Any, index: Any, toInsert: Any) -> Apply:  # noqa: N803
        """An element of the list's type."""
        self._checked(x, toInsert)
        return Apply(self, [x, _position(index), toInsert], [x.type()])

    def compute(self, x: Any, index: Any, element: Any) -> Any:
        """Another list."""
        k = slice(int(index)).indices(len(x))[1]
        return [*x[:k], copy.copy(element), *x[k:]]


class _Searching(_ListOperation):
    """Operations that look for an element."""

    def make_node(self, x: Any, elem: Any) -> Apply:
        """An element of the list's type."""
        return Apply(self, self._checked(x, elem), [self._result(x)])

    def _result(self, x: Any) -> Any:
        return TensorType(config.floatX, ())()

    def kernel(self, node: Apply) -> Any:
        """What is found depends on the type's idea of equality."""
        same = node.inputs[0].type.ttype.values_eq
        return lambda x, element: self.found(x, [k for k, y in enumerate(x) if same(y, element)])

    def found(self, x: Any, places: Sequence[int]) -> Any:
        """The result, from the list and the places at which it has the element."""
        raise NotImplementedError


class Remove(_Searching):
    """The list without an element, at its first place; ValueError if it is not there."""

    def _result(self, x: Any) -> Any:
        return x.type()

    def found(self, x: Any, places: Sequence[int]) -> Any:
        """Another list."""
        if not places:
            raise ValueError("Remove: the element is not in the list")
        return [y for k, y in enumerate(x) if k != places[0]]


class Index(_Searching):
    """The first place of an element, as a number of floatX; ValueError if it is not there."""

    def found(self, x: Any, places: Sequence[int]) -> Any:
        """The place."""
        if not places:
            raise ValueError("Index: the element is not in the list")
        return np.asarray(places[0], config.floatX)


class Count(_Searching):
    """How often an element is in a list, as a number of floatX."""

    def found(self, x: Any, places: Sequence[int]) -> Any:
        """The count."""
        return np.asarray(len(places), config.floatX)


class Reverse(_ListOperation):
    """The list from its end."""

    def make_node(self, x: Any) -> Apply:
        """A list."""
        return Apply(self, self._checked(x), [x.type()])

    def compute(self, x: Any) -> Any:
        """Another list."""
        return x[::-1]


class Length(_ListOperation):
    """How many elements a list has."""

    __props__ = ()

    def __init__(self) -> None:
        super().__init__()

    def make_node(self, x: Any) -> Apply:
        """int64."""
        return Apply(self, self._checked(x), [TensorType("int64", ())()])

    def compute(self, x: Any) -> Any:
        """The number."""
        return np.asarray(len(x), np.int64)


class MakeList(_ListOperation):
    """The list of some variables of one type."""

    __props__ = ()

    def __init__(self) -> None:
        super().__init__()

    def make_node(self, a: Any) -> Apply:
        """A list or tuple, not empty."""
        if not isinstance(a, list | tuple) or not a:
            raise AssertionError(f"make_list: expected a list or tuple of variables, got {a!r}")
        elements = [v if isinstance(v, Variable) else as_tensor_variable(v) for v in a]
        if any(v.type != elements[0].type for v in elements):
            raise TypeError(
                f"make_list: the variables must have one type, got {[v.type for v in elements]}"
            )
        return Apply(self, elements, [TypedListType(elements[0].type)()])

    def compute(self, *values: Any) -> Any:
        """The list."""
        return [copy.copy(v) for v in values]


getitem, append, extend, insert = GetItem(), Append(), Extend(), Insert()
remove, index_, count, reverse = Remove(), Index(), Count(), Reverse()
length, make_list = Length(), MakeList()


class _ListMethods:
    """Methods of lists, as operations."""

    def __getitem__(self, index: Any) -> Any:
        return getitem(self, index)

    def __len__(self) -> int:
        raise TypeError(
            f"{self} has no length before a function runs: use typed_list.length(x), which is a"
            " variable"
        )

    def __bool__(self) -> bool:
        return True

    def append(self, toAppend: Any) -> Any:  # noqa: N803
        """With an element behind it."""
        return append(self, toAppend)

    def extend(self, toAppend: Any) -> Any:  # noqa: N803
        """With those of another list behind it."""
        return extend(self, toAppend)

    def insert(self, index: Any, toInsert: Any) -> Any:  # noqa: N803
        """With an element before that at an index."""
        return insert(self, index, toInsert)

    def remove(self, toRemove: Any) -> Any:  # noqa: N803
        """Without an element, at its first place."""
        return remove(self, toRemove)

    def reverse(self) -> Any:
        """From its end."""
        return reverse(self)

    def count(self, elem: Any) -> Any:
        """How often it has an element."""
        return count(self, elem)

    def ind(self, elem: Any) -> Any:
        """The first place of an element."""
        return index_(self, elem)

    @property
    def ttype(self) -> Any:
        """The type of the elements."""
        return self.type.ttype  # type: ignore[attr-defined]


class TypedListVariable(_ListMethods, Variable):
    """A variable of lists.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.typed_list import TypedListType
    >>> xs, x = TypedListType(T.dscalar)(), T.dscalar()
    >>> function([xs, x], xs.append(x)[-1] + xs[0])([1.0, 2.0], 5.0)
    array(6.)
    """


class TypedListConstant(_ListMethods, Constant):
    """A list that never changes."""


TypedListType.variable_class, TypedListType.constant_class = TypedListVariable, TypedListConstant

__all__ = [
    "Append",
    "Count",
    "Extend",
    "GetItem",
    "Index",
    "Insert",
    "Length",
    "MakeList",
    "Remove",
    "Reverse",
    "TypedListConstant",
    "TypedListVariable",
    "append",
    "count",
    "extend",
    "getitem",
    "index_",
    "insert",
    "length",
    "make_list",
    "remove",
    "reverse",
]
