"""Settings of PyTorch's compilers: they are kept, and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class Settings(SimpleNamespace):
    """Settings as attributes; any may be set."""


def patching(settings: dict[str, Any]) -> Callable[..., Any]:
    """The function `patch` of a module of settings.

    It makes a context, or a decorator, in which settings are others: ``patch(name, value)``,
    ``patch({name: value})`` or ``patch(name=value)``.
    """

    @contextmanager
    def patched(changes: dict[str, Any]) -> Iterator[None]:
        before = {name: settings[name] for name in changes if name in settings}
        settings.update(changes)
        try:
            yield
        finally:
            for name in changes:
                del settings[name]
            settings.update(before)

    def patch(*pair: Any, **changes: Any) -> Any:
        if len(pair) == 1:
            changes |= pair[0]
        elif pair:
            changes[pair[0]] = pair[1]
        return patched(changes)

    return patch
