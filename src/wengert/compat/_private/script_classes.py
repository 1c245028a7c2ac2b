"""``torch.classes``: classes that extensions in C++ register; there are none."""

from __future__ import annotations

from typing import Any, NoReturn


class _Namespace:
    """What would hold the classes of one extension."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{name}', but it does not exist! It would be"
            " of an extension in C++, which wengert does not load"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)


def load_library(path: str) -> NoReturn:
    """OSError: a library of PyTorch's C++ classes needs PyTorch."""
    raise OSError(f"{path}: a library of PyTorch's C++ classes needs PyTorch; wengert loads none")


__all__ = ["load_library"]
