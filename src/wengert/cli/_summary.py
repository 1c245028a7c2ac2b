"""``wengert summary``: the layers of a model."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import sys
from typing import Any

import wengert
from wengert import compat
from wengert.graph import summary

_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool")


def print_summary(target: str, inputs: list[str], meta: bool, as_json: bool) -> int:
    """Print what `target`, a ``MODULE:FACTORY``, is made of; returns the exit code."""
    compat.install()
    try:
        where = wengert.device("meta") if meta else contextlib.nullcontext()
        with where:
            model = _made(_found(target))
            result = summary(model, *map(_tensor, inputs))
    except _TargetError as error:
        print(f"wengert summary: {error}", file=sys.stderr)
        return 1
    print(json.dumps(result.to_dict()) if as_json else result)
    return 0


class _TargetError(Exception):
    """What the command line names is not there, or of no use."""


def _found(target: str) -> Any:
    """The object of ``package.module:name`` or ``file.py:name``."""
    module, colon, name = target.rpartition(":")
    if not colon or not module or not name:
        raise _TargetError(
            f"expected MODULE:FACTORY, such as models:Net or train.py:make_model, got {target!r}"
        )
    if module.endswith(".py"):
        if not os.path.exists(module):
            raise _TargetError(f"there is no file {module!r}")
        folder = os.path.dirname(os.path.abspath(module))
        sys.path.insert(0, folder)
        value: Any = runpy.run_path(module, run_name=os.path.basename(module)[:-3])
        look_up = value.__getitem__
    else:
        sys.path.insert(0, os.getcwd())
        try:
            value = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name not in (module, module.partition(".")[0]):
                raise
            raise _TargetError(f"there is no module {module!r}") from None
        look_up = value.__dict__.__getitem__
    first, *attributes = name.split(".")
    try:
        value = look_up(first)
        for attribute in attributes:
            value = getattr(value, attribute)
    except (KeyError, AttributeError):
        raise _TargetError(f"{module} has no {name!r}") from None
    return value


def _made(value: Any) -> Any:
    """A module: the value itself, or what it returns when it is called."""
    model = value if isinstance(value, wengert.nn.Module) else value()
    if not isinstance(model, wengert.nn.Module):
        raise _TargetError(f"expected a factory of modules, but got {type(model).__name__} from it")
    return model


def _tensor(text: str) -> wengert.Tensor:
    """A tensor of zeros for ``[DTYPE:]SIZE,SIZE,...``."""
    dtype, _, sizes = text.rpartition(":")
    try:
        shape = [int(size) for size in sizes.split(",") if size]
    except ValueError:
        shape = [-1]
    if min(shape, default=0) < 0 or (dtype and dtype not in _DTYPES):
        raise _TargetError(
            f"expected --input [DTYPE:]SIZE,SIZE,... with a dtype of {', '.join(_DTYPES)},"
            f" such as 1,3,224,224 or int64:8,128, got {text!r}"
        )
    return wengert.zeros(*shape, dtype=getattr(wengert, dtype or "float32"))
