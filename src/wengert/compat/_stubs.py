"""The alias for tools that read source: a file for each module of torch says where its names are.

``wengert alias install`` writes them into the package: mypy and pyright run nothing, so they know
no name of a module that is put together when it is asked for. Python itself never reads them, as
the finder answers before; those of the packages themselves are stubs, beside what installs it.
"""

from __future__ import annotations

from types import ModuleType

from wengert.compat import torch_names
from wengert.compat._alias import AliasModule, natives_of

# Built-in names of the alias that are no attribute of any module of wengert.
_TYPES = {"torch.__version__": "str", "torch.version.__version__": "str"}


def stubs() -> dict[str, str]:
    """The files by their paths, relative to where the packages lie."""
    paths = [path for path in torch_names.listed_modules() if natives_of(path)]
    packages = {path.rpartition(".")[0] for path in paths}
    texts = {}
    for path in paths:
        file = path.replace(".", "/")
        if path in torch_names.ROOTS:
            file += "/__init__.pyi"
        else:
            file += "/__init__.py" if path in packages else ".py"
        texts[file] = _stub(path, {p.rpartition(".")[2] for p in paths if p.startswith(f"{path}.")})
    return texts


def _stub(path: str, below: set[str]) -> str:
    """The text of one file: an import for each name, submodules first."""
    natives = natives_of(path)
    alias = AliasModule(path, natives)
    modules = {name for name in below if alias.__names__.is_module(name)}
    lines = [f'"""{path}, for tools that read source. Written by `wengert alias install`."""\n']
    lines += [f"from {path} import {name} as {name}" for name in sorted(modules)]
    for name in sorted(dir(alias)):
        if name in modules or (name.startswith("__") and name.endswith("__")):
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
