"""Extension modules that were built against PyTorch's C++ library, which is not there.

The dynamic loader's error names a library; programs want to know what that means.
"""

from __future__ import annotations

import re
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType
from typing import Any

_LIBRARIES = re.compile(r"lib(torch|c10|shm|aoti)\w*\.|_ZN2at|_ZN3c10|_ZN5torch|THPVariable")
_original = ExtensionFileLoader.create_module


def needs_pytorch(name: str) -> str:
    """What the error of an extension or library of PyTorch's says."""
    return (
        f"{name} is compiled code for PyTorch's C++ library, which wengert does not have: it cannot"
        " be loaded while wengert stands for torch; use the package's Python implementation, if it"
        " has one"
    )


def _create_module(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
    try:
        return _original(self, spec)
    except ImportError as error:
        if _LIBRARIES.search(str(error)) is None:
            raise
        raise ImportError(needs_pytorch(spec.name), name=spec.name, path=spec.origin) from error


def explain_errors() -> None:
    """Have the errors of such extensions say what they mean."""
    loader: Any = ExtensionFileLoader
    loader.create_module = _create_module


def stop_explaining() -> None:
    """Undo `explain_errors`."""
    loader: Any = ExtensionFileLoader
    loader.create_module = _original
