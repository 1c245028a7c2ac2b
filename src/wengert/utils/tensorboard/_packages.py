"""The packages that the files are written with, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _module(package: str, path: str, need: str) -> Any:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(need, name=package) from None


def tensorboard(path: str) -> Any:
    """A module of the package tensorboard. Raises ModuleNotFoundError without the package."""
    need = "torch.utils.tensorboard needs tensorboard: pip install tensorboard"
    return _module("tensorboard", f"tensorboard.{path}", need)


def proto(name: str) -> Any:
    """The messages of TensorFlow's files of one kind, such as `summary`."""
    return tensorboard(f"compat.proto.{name}_pb2")


def pillow(name: str) -> Any:
    """A module of Pillow. Raises ModuleNotFoundError without it."""
    return _module("PIL", f"PIL.{name}", "SummaryWriter's images need Pillow: pip install pillow")


def matplotlib(path: str) -> Any:
    """A module of Matplotlib. Raises ModuleNotFoundError without it."""
    need = "SummaryWriter.add_figure needs Matplotlib: pip install matplotlib"
    return _module("matplotlib", f"matplotlib.{path}", need)
