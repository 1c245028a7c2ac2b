"""``import horovod`` that gives `wengert.horovod`, and theano: the same modules, by both names."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from wengert.compat import _patches
from wengert.compat._theano import INSTEAD

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # the import system looks at methods alone, and importlib.abc brings tempfile and pathlib
    Loader = MetaPathFinder = object


class RenamingFinder(MetaPathFinder):
    """Answers for a package and everything below it, with the modules of another.

    `homes` says which, below `home`, where they do not have the same name there.
    """

    def __init__(self, package: str, home: str, homes: Mapping[str, str]) -> None:
        self.package, self.home, self.homes = package, home, homes
        self.inside = {  # by the name that a module has below the one that stands for its parent
            f"{self._stands_for(path.rpartition('.')[0])}.{path.rpartition('.')[2]}": path
            for path in homes
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _patches.PATCHES:
            return _patches.find_spec(fullname, path)
        name = self._name(fullname, path)
        if name is None:
            return None
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name + ".").startswith(error.name + "."):
                raise
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: {self.home} has no such part of {self.package}"
                + _instead(fullname),
                name=fullname,
            ) from None
        package = hasattr(module, "__path__")
        self._enter_beside(fullname, module)
        return ModuleSpec(fullname, _Loader(module), origin=name, is_package=package)

    def _enter_beside(self, package: str, module: ModuleType) -> None:
        """Enter submodules that are called as something else in the package.

        The import system would put the module in its place: `theano.tensor.sort` is a function.
        """
        for fullname, home in self.homes.items():
            parent, _, own = fullname.rpartition(".")
            if parent == package and not isinstance(getattr(module, own, module), ModuleType):
                sys.modules[fullname] = import_module(f"{self.home}.{home}")

    def _name(self, fullname: str, path: Sequence[str] | None) -> str | None:
        """The module that stands for another, or None where that is not for this finder to say."""
        if fullname.partition(".")[0] == self.package:
            return self._stands_for(fullname)
        # `from theano.sandbox import multinomial` looks below the module's own name.
        if fullname not in self.inside:
            return None
        is_there = PathFinder.find_spec(fullname, path) is not None
        return None if is_there else self._stands_for(self.inside[fullname])

    def _stands_for(self, path: str) -> str:
        if path in self.homes:
            return f"{self.home}.{self.homes[path]}"
        return path.replace(self.package, self.home, 1)


def _instead(path: str) -> str:
    """What stands for a module that is not there, or why nothing does; empty if that is unknown."""
    while path and path not in INSTEAD:
        path = path.rpartition(".")[0]
    return f"; {INSTEAD[path]}" if path else ""


class _Loader(Loader):
    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def get_code(self, fullname: str) -> CodeType | None:
        """For ``python -m``: the code of the module that stands for this one."""
        spec = self.module.__spec__
        code: CodeType | None = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Put wengert's own module under the other name."""
        sys.modules[module.__name__] = self.module
