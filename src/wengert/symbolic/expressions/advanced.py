"""Operations at arrays of indices by their classes, for programs that look at graphs."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.indexing import *  # noqa: F403
from wengert.symbolic.expressions.indexing import (
    IncSubtensor,
    Key,
    Subtensor,
    inc_subtensor,
    index,
    set_subtensor,
)
from wengert.symbolic.expressions.slices import get_canonical_form_slice as get_canonical_form_slice
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.graph import Apply


class _Indexed(type):
    """Says by its index what an operation is an instance of."""

    of: Any
    single: bool

    def __instancecheck__(cls, value: Any) -> bool:
        if not isinstance(value, cls.of):
            return False
        vectors = value.key.entries == ("a",)
        return vectors if cls.single else value.key.advanced and not vectors


class AdvancedSubtensor1(Subtensor, metaclass=_Indexed):
    """Rows at a vector of indices: ``AdvancedSubtensor1()(x, i)`` is ``x[i]``.

    >>> from wengert.symbolic import tensor as T
    >>> x, i = T.dmatrix(), T.ivector()
    >>> [isinstance(y.owner.op, T.AdvancedSubtensor1) for y in (x[i], x[0], x[i, i])]
    [True, False, False]
    """

    of, single = Subtensor, True

    def __init__(self, sparse_grad: bool = False) -> None:
        super().__init__(Key(["a"]))

    def make_node(self, x: Any, ilist: Any) -> Apply:
        """The application of what ``x[ilist]`` is; TypeError for another index than a vector."""
        ilist = as_tensor_variable(ilist)
        if ilist.ndim != 1:
            raise TypeError(f"index must be vector, got {ilist.type}")
        node: Apply = index(as_tensor_variable(x), (ilist,)).owner
        return node


class AdvancedSubtensor(Subtensor, metaclass=_Indexed):
    """Elements at several arrays of indices, or at one of another number of dimensions."""

    of, single = Subtensor, False


class AdvancedIncSubtensor1(IncSubtensor, metaclass=_Indexed):
    """An array with rows at a vector of indices increased or, with an option, replaced."""

    of, single = IncSubtensor, True

    def __init__(self, inplace: bool = False, set_instead_of_inc: bool = False) -> None:
        super().__init__(Key(["a"]), set_instead_of_inc)

    def make_node(self, x: Any, y: Any, ilist: Any) -> Apply:
        """As that of `inc_subtensor` or `set_subtensor` at ``x[ilist]``."""
        target = AdvancedSubtensor1()(x, ilist)
        write = set_subtensor if self.set_instead_of_inc else inc_subtensor
        node: Apply = write(target, y).owner
        return node


class AdvancedIncSubtensor(IncSubtensor, metaclass=_Indexed):
    """An array with elements increased or replaced, as `AdvancedSubtensor` picks them."""

    of, single = IncSubtensor, False


# A mask is an index like its places.
AdvancedBooleanSubtensor, AdvancedBooleanIncSubtensor = AdvancedSubtensor, AdvancedIncSubtensor


def advanced_subtensor(x: Any, *args: Any) -> Any:
    """``x[args]``, of arrays of indices, masks and slices."""
    return index(as_tensor_variable(x), args)


def advanced_inc_subtensor(x: Any, y: Any, *args: Any) -> Any:
    """An array with `y` added at ``x[args]``."""
    return inc_subtensor(advanced_subtensor(x, *args), y)


def advanced_set_subtensor(x: Any, y: Any, *args: Any) -> Any:
    """An array with `y` at ``x[args]``."""
    return set_subtensor(advanced_subtensor(x, *args), y)


advanced_boolean_subtensor = advanced_subtensor
advanced_boolean_inc_subtensor = advanced_inc_subtensor
advanced_boolean_set_subtensor = advanced_set_subtensor
advanced_subtensor1 = AdvancedSubtensor1()
advanced_inc_subtensor1 = AdvancedIncSubtensor1()
advanced_set_subtensor1 = AdvancedIncSubtensor1(set_instead_of_inc=True)


__all__ = [
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "advanced_boolean_inc_subtensor",
    "advanced_boolean_set_subtensor",
    "advanced_boolean_subtensor",
    "advanced_inc_subtensor",
    "advanced_inc_subtensor1",
    "advanced_set_subtensor",
    "advanced_set_subtensor1",
    "advanced_subtensor",
    "advanced_subtensor1",
    "get_canonical_form_slice",
]
