"""Write down which names PyTorch has in the modules that the torch alias stands for.

    python tools/torch_names.py            # write src/wengert/compat/names.txt
    python tools/torch_names.py --check    # fail if it is not up to date

A line for each module: its names without an underscore, as far as they are PyTorch's own. A slash
marks modules. PyTorch has to be installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from wengert.compat import torch_names

FILE = Path(torch_names.__file__).with_name("names.txt")
HEAD = "# The names of PyTorch 2.13, module by module. Written by tools/torch_names.py.\n"
# They take seconds to import, need another library, or have the names that programs give them: what
# wengert has there is shown.
UNLISTED = {"torch._dynamo", "torch._inductor", "torch.ops", "torch.utils.tensorboard"}


def modules(package: str, folder: str) -> Iterator[str]:
    """The modules of PyTorch below a folder that wengert may stand for."""
    for info in pkgutil.iter_modules([folder]):
        path = f"{package}.{info.name}"
        if path in UNLISTED or (info.name.startswith("_") and path not in torch_names.ELSEWHERE):
            continue
        if stands_for(path):
            yield path
            if info.ispkg:
                yield from modules(path, f"{folder}/{info.name}")


def stands_for(path: str) -> bool:
    """Whether wengert has a module for one of PyTorch's."""
    natives = torch_names.ELSEWHERE.get(path, path.replace("torch", "wengert", 1)).split()
    return path.startswith("torch.nn.modules.") or any(map(_exists, natives))


def _exists(native: str) -> bool:
    try:
        return importlib.util.find_spec(native) is not None
    except ModuleNotFoundError:
        return False


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module that stand for something of PyTorch's."""
    names = {*dir(module), *dir(type(module)), *dir(getattr(module, "m", None))}
    below = {info.name for info in pkgutil.iter_modules(getattr(module, "__path__", []))}
    names -= {*dir(ModuleType), *dir(None)}
    unloaded = below - names  # modules that PyTorch does not import by itself
    words = {f"{name}/" for name in unloaded} | {word_of(module, name) for name in names}
    return sorted(word for word in words if word and word[0] != "_" and word != "TYPE_CHECKING")


def word_of(module: ModuleType, name: str) -> str:
    """A name as it is listed; empty if it stands for something of another library's."""
    try:
        value = getattr(module, name)
    except Exception:  # of another machine
        return ""
    if inspect.ismodule(value):
        return f"{name}/" if value.__name__ == f"{module.__name__}.{name}" else ""
    return "" if is_foreign(name, value) and name not in getattr(module, "__all__", ()) else name


def is_foreign(name: str, value: Any) -> bool:
    """Whether a value is another library's, under the name that it has there."""
    has_home = isinstance(value, type) or inspect.isroutine(value)
    home = getattr(value if has_home else type(value), "__module__", None) or "builtins"
    if home.split(".")[0] in ("torch", "builtins"):
        return False
    return getattr(sys.modules.get(home), name, None) is value


def text() -> str:
    """The file as it should be."""
    folder = importlib.import_module("torch").__path__[0]
    paths = [*torch_names.ROOTS, *modules("torch", folder)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {path: importlib.import_module(path) for path in sorted({*paths})}
        lines = {path: names_of(module) for path, module in found.items()}
    for path in {*UNLISTED, *found}:
        package, _, name = path.rpartition(".")
        if path in UNLISTED or name.startswith("_"):
            lines[package] = sorted({*lines[package], f"{name}/"})
    return HEAD + "".join(f"{path}: {' '.join(names)}\n" for path, names in lines.items() if names)


def main() -> int:
    """Write the file, or compare it."""
    if "--check" not in sys.argv:
        FILE.write_text(text())
        return 0
    if FILE.read_text() == text():
        return 0
    print(f"{FILE} is not up to date: python tools/torch_names.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
