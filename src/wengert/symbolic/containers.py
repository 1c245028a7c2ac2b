"""What holds the values of a function's inputs, and of what thunks read and write."""

from __future__ import annotations

import copy
from typing import Any

from wengert.symbolic.sharing import Container as SharedContainer


class Container:
    """Where a value stands that a thunk reads or writes."""

    def __init__(
        self, variable: Any, storage: list[Any] | None = None, readonly: bool = False,
        strict: bool = False, allow_downcast: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        """With `readonly` the value cannot be set; `storage` is a list of one value."""
        self.variable, self.type = variable, getattr(variable, "type", variable)
        self.name = getattr(variable, "name", None) if name is None else name
        self.storage: list[Any] = [None] if storage is None else storage
        self.readonly, self.strict, self.allow_downcast = readonly, strict, allow_downcast

    @property
    def data(self) -> Any:
        """The value."""
        return self.storage[0]

    @data.setter
    def data(self, value: Any) -> None:
        if self.readonly:
            raise Exception(f"Cannot set readonly storage: {self.name}")
        if value is None:  # which programs set so that there is none
            self.storage[0] = None
            return
        # Types of programs may have a `filter` of the value alone.
        options: dict[str, Any] = {"strict": True} if self.strict else {}
        if self.allow_downcast is not None:
            options["allow_downcast"] = self.allow_downcast
        self.storage[0] = self.type.filter(value, **options)

    value = data

    def copied(self, deep: bool) -> Container:
        """A container of its own, of the same value or of a copy."""
        other = copy.copy(self)
        other.storage = copy.deepcopy(self.storage) if deep else list(self.storage)
        return other


def container_of(own: Any) -> Any:
    """What holds the value that an input has where a call passes none.

    If the input's default is the container of another function's input, or of a shared variable,
    that is shared.
    """
    if isinstance(own.value, Container | SharedContainer):
        return own.value
    container = Container(own.variable, None, False, own.strict, own.allow_downcast, own.name)
    if own.value is not None:
        container.data = own.value
    return container


class Containers:
    """The containers of a function, by variable, name or number."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __getitem__(self, item: Any) -> Any:
        return self._function.container_for(item)

    def __contains__(self, item: Any) -> bool:
        return item in self._function
