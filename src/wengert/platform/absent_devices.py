"""Functions of devices that are not there: scripts see their names, and calls are refused."""

from __future__ import annotations

from typing import Any, NoReturn


def refusing(name: str, module: str, error: type[Exception], text: str) -> Any:
    """A function of a public module that raises, whatever it is called with."""

    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise error(text)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    refuse.__doc__ = f"Raises {error.__name__}: there is no device."
    return refuse
