"""Names of what is not there: functions that refuse to be called, types without instances."""

from __future__ import annotations

from typing import Any, NoReturn


def refusing(name: str, module: str, error: type[Exception], text: str) -> Any:
    """A function of a public module that raises, whatever it is called with."""

    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise error(text)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    refuse.__doc__ = f"Raises {error.__name__}."
    return refuse


class Absent:
    """A type for annotations and `isinstance`, of which making an instance raises."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise self._refusal(type(self).__name__)

    @staticmethod
    def _refusal(name: str) -> Exception:
        return NotImplementedError(f"{name}: wengert makes none")
