"""Modules of others that are changed when they are imported under the alias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from wengert.compat import _spawn


def _go_without_libraries(module: Any) -> None:
    # torchaudio computes in Python where its libraries are not, but takes one that is there and
    # does not load for a broken installation.
    original = module._load_lib

    @wraps(original)
    def _load_lib(lib: str) -> bool:
        try:
            return bool(original(lib))
        except OSError:
            return False

    module._load_lib = _load_lib


PATCHES: dict[str, Callable[[Any], None]] = {
    **_spawn.PATCHES,
    "torchaudio._extension.utils": _go_without_libraries,
}


def find_spec(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module in `PATCHES`, with a loader that patches it."""
    spec = PathFinder.find_spec(fullname, path)
    if spec is not None and isinstance(spec.loader, SourceFileLoader):
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
    return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        PATCHES[module.__name__](module)
