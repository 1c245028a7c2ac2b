"""What graphs call their inputs: the way to each in the program."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import Module


def names_of(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[int, str]:
    """Names of the tensors that a function is given, or finds, by identity."""
    found: dict[int, str] = {}
    owner = getattr(function, "__self__", function)
    code = function.forward if isinstance(function, Module) else function
    scope = inspect.unwrap(code)
    try:
        given = inspect.signature(code).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {"args": args, **kwargs}
    for name, value in given.items():
        _name(f"L_{name}", value, found, 0)
    for name, value in _seen(scope):
        _name(f"G_{name}", value, found, 0)
    if isinstance(owner, Module):
        for path, module in owner.named_modules():
            way = "".join(f"_modules_{part}" for part in path.split(".") if part)
            for kind in ("parameters", "buffers"):
                for name, value in vars(module).get(f"_{kind}", {}).items():
                    _name(f"L_self{way}_{kind}_{name}", value, found, 0)
    return found


def _seen(scope: Any) -> list[tuple[str, Any]]:
    """The globals and cells that the code of a function names."""
    code = getattr(scope, "__code__", None)
    if code is None:
        return []
    cells = dict(zip(code.co_freevars, scope.__closure__ or (), strict=False))
    found = [(n, scope.__globals__[n]) for n in code.co_names if n in scope.__globals__]
    for name, cell in cells.items():
        try:
            found.append((name, cell.cell_contents))
        except ValueError:
            continue  # an empty one
    return found


def _name(path: str, value: Any, found: dict[int, str], depth: int) -> None:
    if isinstance(value, Tensor):
        found.setdefault(id(value), re.sub(r"\W", "_", f"{path}_"))
    elif isinstance(value, list | tuple | dict) and depth < 4:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            _name(f"{path}_{key}", part, found, depth + 1)
