"""The modules that stand for ``torch`` and what is below it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from wengert.compat import _names

_MISSING: Any = object()


def missing(name: str) -> str:
    """What the error of a name that wengert lacks says."""
    return f"{name}: wengert has no {name} yet (this process runs wengert in place of PyTorch)"


def native_of(path: str) -> ModuleType | None:
    """The module of wengert that stands for a module of torch; None if wengert lacks it."""
    return next(filter(None, map(_import, _names.candidates(path))), None)


def _import(path: str) -> ModuleType | None:
    """The module at a path, or None; errors inside an existing module pass through."""
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name is not None and (path + ".").startswith(error.name + "."):
            return None
        raise


def _public(name: str) -> bool:
    return not name.startswith("_")


class AliasModule(ModuleType):
    """A module of torch whose names are those of the wengert module that stands for it.

    What is assigned to the alias goes to that module, so that a setting or a replaced
    function is seen by everything that uses it.
    """

    def __init__(self, name: str, native: ModuleType) -> None:
        super().__init__(name, native.__doc__)
        self.__native__ = native

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # for `from torch.nn import *`
            return self._exported()
        value = self._find(name)
        if isinstance(value, ModuleType) or value is _MISSING:
            path = f"{self.__name__}.{name}"
            if native_of(path) is None:
                raise AttributeError(missing(path), name=name, obj=self)
            return import_module(path)
        if callable(value):  # settings may change; functions do not
            self.__dict__[name] = value
        return value

    def _find(self, name: str) -> Any:
        extra = _names.EXTRA.get(f"{self.__name__}.{name}", _MISSING)
        known = _public(name) or name in _names.INNER.get(self.__name__, ())
        return getattr(self.__native__, name, extra) if known else extra

    def _exported(self) -> list[str]:
        listed = getattr(self.__native__, "__all__", None)
        if listed is not None:
            return list(listed)
        values = vars(self.__native__).items()
        return [n for n, value in values if _public(n) and not isinstance(value, ModuleType)]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, AliasModule) or not _public(name):
            super().__setattr__(name, value)  # the import system binds submodules here
        else:
            setattr(self.__native__, name, value)
            self.__dict__.pop(name, None)

    def __delattr__(self, name: str) -> None:
        self.__dict__.pop(name, None)
        delattr(self.__native__, name)

    def __dir__(self) -> list[str]:
        known = {*self.__dict__, *filter(_public, dir(self.__native__))}
        return sorted(known - {"__native__"})
