"""The modules that stand for ``torch`` and what is below it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from wengert.compat import torch_names
from wengert.compat._answers import look_for_answers
from wengert.compat._homes import move
from wengert.core.dtypes import dtype
from wengert.core.layout import layout, memory_format

_MISSING: Any = object()
# What never changes, as functions and classes do not.
_CONSTANTS = dtype, layout, memory_format
_NUMBERS = frozenset({"e", "inf", "nan", "pi"})


def why_missing(path: str) -> str:
    """What the error of a name that is not there says, and which package asked for it."""
    from wengert.compat import missing_names

    return missing_names.missing(path) + missing_names.asker()


def natives_of(path: str) -> list[ModuleType]:
    """The modules of wengert that stand for a module of torch; none if wengert lacks it."""
    return list(filter(None, map(_import, torch_names.candidates(path))))


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
    """A module of torch: the names that PyTorch has there, from the modules that stand for it.

    What is assigned to such a name goes to wengert's module, so that a setting or a replaced
    function is seen by everything that uses it. Other names are the alias's own.
    """

    __natives__: list[ModuleType]
    __names__: torch_names.TorchNames

    def __init__(self, name: str, natives: list[ModuleType]) -> None:
        super().__init__(name, natives[0].__doc__)
        self.__dict__.update(__natives__=natives, __names__=torch_names.of_module(name))

    def fill(self) -> None:
        """Put the functions and classes that are loaded where programs iterate over them."""
        extra = {path.rpartition(".")[2] for path in torch_names.EXTRA}
        for native in self.__natives__:
            for name, value in vars(native).items():
                if callable(value) and name in self.__names__ and name not in extra:
                    self.__dict__.setdefault(name, value)
                    move(value)

    def __getattr__(self, name: str) -> Any:
        look_for_answers()
        if name == "__all__":  # for `from torch.nn import *`
            return self._exported()
        if name == "__file__":
            return self.__natives__[0].__file__
        if name == "torch" == self.__name__:  # as PyTorch has it; some annotate torch.torch.Tensor
            return self
        value = self._module(name) if self.__names__.is_module(name) else _MISSING
        if value is _MISSING:
            value = self._find(name)
        if value is _MISSING:
            raise AttributeError(self._why_missing(name), name=name, obj=self)
        if callable(value) or isinstance(value, _CONSTANTS) or name in _NUMBERS:  # no setting
            self.__dict__[name] = value
        return value

    def _module(self, name: str) -> Any:
        """The alias below this one."""
        path = f"{self.__name__}.{name}"
        return import_module(path) if natives_of(path) else _MISSING

    def look_up(self, name: str) -> tuple[Any] | None:
        """What wengert has under a name that is no module's, in a tuple; None without it."""
        value = self._find(name)
        return None if value is _MISSING else (value,)

    def _find(self, name: str) -> Any:
        """What wengert has under a name of PyTorch's that is not a module."""
        path = f"{self.__name__}.{name}"
        if path in torch_names.EXTRA:
            return torch_names.EXTRA[path]
        for native in self.__natives__ if name in self.__names__ else ():
            value = getattr(native, name, _MISSING)
            if value is not _MISSING and not _is_incidental(value):
                return value
        return _MISSING

    def _why_missing(self, name: str) -> str:
        path = f"{self.__name__}.{name}"
        if name.startswith("__"):  # which the import system asks every module for
            return f"module {self.__name__!r} has no attribute {name!r}"
        own = [n.__name__ for n in self.__natives__ if hasattr(n, name)]
        if name in self.__names__ or not _public(name) or not own:
            return why_missing(path)
        return f"{path}: PyTorch has no such name; wengert's own is {own[0]}.{name}"

    def _exported(self) -> list[str]:
        names: set[str] = set()
        for native in self.__natives__:
            names |= set(getattr(native, "__all__", filter(_public, vars(native))))
        return sorted(name for name in names if self._find(name) is not _MISSING)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, AliasModule):  # by the import system, which binds submodules
            if self.__names__.is_module(name):
                super().__setattr__(name, value)
        elif name in self.__names__ and (home := self._home(name)) is not None:
            setattr(home, name, value)
            self.__dict__.pop(name, None)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        own = self.__dict__.pop(name, _MISSING)
        home = self._home(name) if name in self.__names__ else None
        if home is not None:
            delattr(home, name)
        elif own is _MISSING:
            raise AttributeError(self._why_missing(name), name=name, obj=self)

    def _home(self, name: str) -> ModuleType | None:
        """The module of wengert that has a name."""
        return next((native for native in self.__natives__ if hasattr(native, name)), None)

    def __dir__(self) -> list[str]:
        names = {n for module in self.__natives__ for n in dir(module) if self._shows(module, n)}
        return sorted((names | self.__dict__.keys()) - {"__natives__", "__names__"})

    def _shows(self, native: ModuleType, name: str) -> bool:
        value = vars(native).get(name)  # what is loaded when it is first named is not loaded here
        if isinstance(value, ModuleType):
            return self.__names__.is_module(name)
        return name in self.__names__ and not _is_incidental(value)


def _is_incidental(value: Any) -> bool:
    """Whether a module has a value for its own use: other modules, `annotations`."""
    return isinstance(value, ModuleType) or type(value).__module__ == "__future__"
