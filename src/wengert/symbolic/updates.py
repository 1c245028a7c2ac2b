"""Updates of shared variables, in order."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.sharing import SharedVariable


class OrderedUpdates(dict[Any, Any]):
    """New values by shared variable, in the order in which they came; false if there are none.

    >>> from wengert.symbolic import shared
    >>> from wengert.symbolic.updates import OrderedUpdates
    >>> w = shared(1.0)
    >>> updates = OrderedUpdates({w: w + 1})
    >>> bool(updates), bool(OrderedUpdates())
    (True, False)
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        for key, value in dict(*args, **options).items():
            self[key] = value

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, SharedVariable):
            raise TypeError("OrderedUpdates keys must inherit from SharedVariable", key)
        super().__setitem__(key, value)

    def update(self, *args: Any, **options: Any) -> None:
        """Take over other updates; KeyError for a variable that has another one already."""
        for key, value in dict(*args, **options).items():
            if key in self and self[key] is not value:
                raise KeyError("Collision", key)
            self[key] = value

    def __add__(self, other: Any) -> OrderedUpdates:
        total = OrderedUpdates(self)
        total.update(other)
        return total

    def __radd__(self, other: Any) -> OrderedUpdates:
        total = OrderedUpdates(other)
        total.update(self)
        return total
