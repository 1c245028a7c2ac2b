"""Handles of hooks."""

from __future__ import annotations

import itertools
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again.

    Also a context manager that removes the hook on exit.
    """

    def __init__(self, hooks: dict[int, Any], hook: Any, prepend: bool = False) -> None:
        self.id = next(_ids)
        self._hooks: dict[int, Any] | None = hooks
        if prepend:
            others = dict(hooks)
            hooks.clear()
            hooks[self.id] = hook
            hooks.update(others)
        else:
            hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        if self._hooks is not None:
            self._hooks.pop(self.id, None)
            self._hooks = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
