"""Shared variables: values that functions read and update."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.symbolic.expressions.type import TensorOperators, TensorType
from wengert.symbolic.graph import Generic, Variable, marked

# Shared variables of further kinds of values: (value, name, strict, allow_downcast), or None.
constructors: list[Callable[..., Any]] = []


def shared_constructor(ctor: Any, remove: bool = False) -> Any:
    """Register a function that makes shared variables of further kinds of values.

    It is called as ``ctor(value, name=, strict=, allow_downcast=)`` and raises TypeError for
    values of other kinds.
    """

    if remove:
        constructors[:] = [c for c in constructors if getattr(c, "ctor", None) is not ctor]
        return ctor

    def made(value: Any, name: str | None, strict: bool, allow_downcast: bool | None) -> Any:
        try:
            return ctor(value, name=name, strict=strict, allow_downcast=allow_downcast)
        except TypeError:
            return None

    made.ctor = ctor  # type: ignore[attr-defined]
    constructors.append(made)
    return ctor


class RandomStateType(Generic):
    """NumPy's random generators."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """A generator, or TypeError."""
        if not isinstance(value, np.random.RandomState):
            raise TypeError(f"expected a numpy.random.RandomState, got {value!r}")
        return value


random_state_type = RandomStateType()
generic = Generic()


class Container:
    """Where the value of a shared variable is."""

    def __init__(self, type: Any, value: Any, strict: bool, allow_downcast: bool | None) -> None:
        self.type, self.strict, self.allow_downcast = type, strict, allow_downcast
        self.storage: list[Any] = [None]
        self.set(value)

    def set(self, value: Any) -> None:
        """Another value, which has to fit the type."""
        self.storage[0] = self.type.filter(value, self.strict, self.allow_downcast)

    @property
    def data(self) -> Any:
        """The value."""
        return self.storage[0]

    @data.setter
    def data(self, value: Any) -> None:
        self.set(value)

    value = data

    def copied(self, deep: bool) -> Container:
        """Itself: the value of a shared variable is shared by functions and their copies."""
        return self


class SharedVariable(Variable):
    """A variable with a value of its own, which functions read when they are called.

    Attributes:
        container: where the value is.
        default_update: an expression for the value after each call of a function that uses it.

    >>> import numpy as np
    >>> from wengert.symbolic import function, shared
    >>> count = shared(np.asarray(0), "count")
    >>> step = function([], count, updates=[(count, count + 1)])
    >>> step(), step(), count.get_value()
    (array(0), array(1), array(2))
    """

    default_update: Any

    def __init__(
        self, name: str | None, type: Any, value: Any, strict: bool = False,
        allow_downcast: bool | None = None, container: Container | None = None,
    ) -> None:  # fmt: skip
        Variable.__init__(self, type, name=name)
        if container is None:
            container = Container(type, value, strict, allow_downcast)
        self.container = container

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The value; with `borrow` the array itself, which changes with the variable."""
        value = self.container.storage[0]
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Another value; with `borrow` the array itself, not a copy.

        TypeError where it does not fit the type.
        """
        try:
            self.container.set(new_value if borrow else copy.deepcopy(new_value))
        except TypeError as error:
            where = self.where()
            origin = f" (made at {where})" if where else ""
            text = f"{error.args[0]}\nIt was to be the value of the shared variable {self}{origin}."
            error.args = (text, *error.args[1:])
            raise

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to 0."""
        value = self.container.storage[0]
        self.container.storage[0] = np.zeros_like(value)

    def clone(self) -> Any:
        """Another variable of the same value."""
        copied = type(self)(self.name, self.type, None, container=self.container)
        copied.tag = copy.copy(self.tag)
        return copied


class TensorSharedVariable(TensorOperators, SharedVariable):
    """A shared array."""


class ScalarSharedVariable(TensorSharedVariable):
    """A shared number."""


class RandomStateSharedVariable(SharedVariable):
    """A shared random generator."""


def tensor_constructor(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None,
    borrow: bool = False, broadcastable: Any = None, target: str = "cpu",
) -> Any:  # fmt: skip
    """A shared variable of an array; TypeError for anything else.

    >>> import numpy as np
    >>> from wengert.symbolic.sharing import tensor_constructor
    >>> tensor_constructor(np.zeros(3), "w").type
    TensorType(float64, vector)
    """
    if target != "cpu":
        raise TypeError(f"tensor_constructor: target must be 'cpu', got {target!r}")
    if not isinstance(value, np.ndarray):
        raise TypeError(f"tensor_constructor: expected an array, got {value!r} of {type(value)}")
    value = value if borrow else value.copy()
    pattern = (False,) * value.ndim if broadcastable is None else broadcastable
    kind = TensorSharedVariable if value.ndim else ScalarSharedVariable
    return kind(name, TensorType(value.dtype, pattern), value, strict, allow_downcast)


def shared(
    value: Any, name: str | None = None, strict: bool = False,
    allow_downcast: bool | None = None, **options: Any,
) -> Any:  # fmt: skip
    """A shared variable of an initial value.

    An array's dtype and number of dimensions are the variable's; no dimension is broadcastable
    unless `broadcastable=` says so. `borrow=True` takes the array itself rather than a copy.

    >>> import numpy as np
    >>> from wengert.symbolic import shared
    >>> shared(np.zeros((2, 3)), "w").type
    TensorType(float64, matrix)
    """
    if isinstance(value, Variable):
        raise TypeError(
            "Shared variable constructor needs numeric values and not symbolic variables."
        )
    unknown = options.keys() - {"borrow", "broadcastable", "target"}
    if unknown:
        raise TypeError(f"shared: no constructor takes {sorted(unknown)} for {type(value)}")
    borrow = options.get("borrow", False)
    if not borrow:
        value = copy.deepcopy(value)
    if isinstance(value, np.random.RandomState):
        return marked(RandomStateSharedVariable(name, random_state_type, value))
    if isinstance(value, np.ndarray):
        pattern = options.get("broadcastable") or (False,) * value.ndim
        return marked(tensor_constructor(value, name, strict, allow_downcast, True, pattern))
    if isinstance(value, bool | int | float | complex | np.generic):
        array = np.asarray(value)
        return marked(
            ScalarSharedVariable(name, TensorType(array.dtype, ()), array, strict, allow_downcast)
        )
    for constructor in constructors:
        made = constructor(value, name, strict, allow_downcast)
        if made is not None:
            return marked(made)
    return marked(SharedVariable(name, Generic(), value, strict, allow_downcast))
