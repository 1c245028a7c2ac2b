"""Objects that have a state."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object whose state `save` writes and `load` gives back, such as an optimizer.

    >>> import wengert
    >>> from wengert.distributed.checkpoint.stateful import Stateful
    >>> isinstance(wengert.nn.Linear(2, 1), Stateful), isinstance({}, Stateful)
    (True, False)
    """

    def state_dict(self) -> dict[str, Any]:
        """What is to be saved."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was saved."""


__all__ = ["Stateful"]
