"""The alias for type checkers: a stub for each module of torch, which says where wengert has it.

``wengert alias install`` writes them beside the package: mypy and pyright run nothing, so they would
know no name of a module that is put together when it is asked for.
"""

from __future__ import annotations

from types import ModuleType

from wengert.compat import torch_names
from wengert.compat._alias import AliasModule, natives_of

# Built-in names of the alias that are no attribute of any module of wengert.
_TYPES = {"torch.__version__": "str", "torch.version.__version__": "str"}


def stubs() -> dict[str, str]:
    """The stubs by their paths, relative to where the packages lie."""
    paths = [path for path in torch_names.listed_modules() if natives_of(path)]
    packages = {path.rpartition(".")[0] for path in paths}
    return {
        path.replace(".", "/") + ("/__init__.pyi" if _is_package(path, packages) else ".pyi"):
        _stub(path, {p.rpartition(".")[2] for p in paths if p.rpartition(".")[0] == path})
        for path in paths
    }  # fmt: skip


def _is_package(path: str, packages: set[str]) -> bool:
    return path in packages or path in torch_names.ROOTS


def _stub(path: str, below: set[str]) -> str:
    """The text of one stub: an import for each name, submodules first."""
    natives = natives_of(path)
    alias = AliasModule(path, natives)
    lines = [f"from {path} import {name} as {name}" for name in sorted(below)]
    for name in sorted(dir(alias)):
        # What a module hides by a function of its name is that function.
        if name in below or (name.startswith("__") and name.endswith("__")):
            continue
        if (home := _home(natives, name)) is not None:
            lines.append(f"from {home} import {name} as {name}")
    for extra, value in torch_names.EXTRA.items():
        package, _, name = extra.rpartition(".")
        if package == path:
            lines.append(_extra(extra, name, value))
    return "\n".join(lines) + "\n"


def _extra(path: str, name: str, value: object) -> str:
    if path in _TYPES:
        return f"{name}: {_TYPES[path]}"
    return f"from {value.__module__} import {value.__name__} as {name}"  # type: ignore[attr-defined]


def _home(natives: list[ModuleType], name: str) -> str | None:
    """The module of wengert that has a name."""
    return next((native.__name__ for native in natives if hasattr(native, name)), None)
