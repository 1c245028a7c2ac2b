"""Processes that `multiprocessing` starts afresh get the alias before they run the script.

A child first unpickles what its parent prepared for it, and only then imports the main
module. An object among that data which installs the alias when it is unpickled comes in time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

_packages: list[str] = []  # what children are to install


def _install_in_child(packages: Sequence[str]) -> bool:
    from wengert import compat

    for package in packages:
        compat.install(package)
    return True


class _Installer:
    """Installs the aliases where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _install_in_child, (tuple(_packages),)


def _patch_spawn(module: Any) -> None:
    original = module.get_preparation_data

    @wraps(original)
    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**original(name), "wengert": _Installer()}

    module.get_preparation_data = get_preparation_data


def _patch_forkserver(module: Any) -> None:
    # The server would import the main module ahead of all children, and without the alias.
    module.set_forkserver_preload([])


PATCHES: dict[str, Callable[[Any], None]] = {
    "multiprocessing.spawn": _patch_spawn,
    "multiprocessing.forkserver": _patch_forkserver,
}


def follow_into_children(package: str) -> None:
    """Patch those modules of `multiprocessing` that are loaded; `_patches` does the others."""
    _packages.append(package)
    if len(_packages) > 1:
        return
    for name, patch in PATCHES.items():
        module = sys.modules.get(name)
        if module is not None:
            patch(module)


def stay_out_of_children(package: str) -> None:
    """Undo `follow_into_children`."""
    _packages.remove(package)
    if _packages:
        return
    module: Any = sys.modules.get("multiprocessing.spawn")
    original = getattr(getattr(module, "get_preparation_data", None), "__wrapped__", None)
    if original is not None:
        module.get_preparation_data = original
    server: Any = sys.modules.get("multiprocessing.forkserver")
    if server is not None:
        server.set_forkserver_preload(["__main__"])
