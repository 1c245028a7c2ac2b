"""NumPy's names for `dim` and `keepdim`: PyTorch takes `axis` and `keepdims` as well.

Python has one name per argument, and anything that forwards an alias (`**kwargs`, a wrapper)
costs every call. So the aliases are separate trailing arguments, and the body is preceded by a
test against constants. For operations that is generated with the rest of their
source.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

ALIASES = {"dim": "axis", "keepdim": "keepdims"}

# Implemented in Python in PyTorch, which does not rename their arguments.
PLAIN = frozenset({"norm", "split", "unique", "unique_consecutive"})

# The default of a required argument that may be passed by its alias, or that follows one.
MISSING: Any = ...

Defaults = dict[str, Any]  # of arguments, by name; `...` for those without one


def take_numpy_names(families: Iterable[ModuleType]) -> None:
    """Make the operations among these modules' functions accept NumPy's names, if PyTorch's do."""
    for family in families:
        elsewhere = {*getattr(family, "METHODS", ()), *getattr(family, "IN_NAMESPACES", ())}
        for name in {*family.__all__, *elsewhere} - PLAIN:
            op = getattr(getattr(family, name), "op", None)
            if op is not None and op.declared.__module__ == family.__name__:
                op.numpy_names = True


def renamed(arguments: Iterable[str]) -> list[str]:
    """The arguments that have an alias."""
    return [name for name in arguments if name in ALIASES]


def needed(defaults: Defaults) -> list[str]:
    """Required arguments that get a default, because one before them may be passed by alias."""
    names = list(defaults)
    first = min([names.index(name) for name in renamed(names)], default=len(names))
    return [name for name in names[first:] if defaults[name] is ...]


def alias_guard(name: str, defaults: Defaults) -> str:
    """The lines before a body; they do nothing if neither alias was passed.

    They also check that `keepdim` is a bool: a call ``x.sum(0, 1)`` means two dimensions.

    Args:
        name: of the function, for its errors.
        defaults: its arguments, in order.
    """
    aliased, required = renamed(defaults), needed(defaults)
    if not aliased:
        return ""
    tests = [f"{ALIASES[a]} is not None" for a in aliased] + [f"{r} is ..." for r in required]
    if "keepdim" in aliased:
        tests.append("(keepdim is not False and keepdim is not True)")
    lines = [
        f"if {' or '.join(tests)}:",
        *[f"    {a} = either({name!r}, {a!r}, {a}, {ALIASES[a]}, {_text(defaults[a])})"
          for a in aliased if a != "keepdim"],
        *[f"    keepdim = either_keepdim({name!r}, keepdim, keepdims)"
          for a in aliased if a == "keepdim"],
        *([f"    require_arguments({name!r}, {', '.join(f'{r}={r}' for r in required)})"]
          if required else []),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _text(default: Any) -> str:
    return "..." if default is ... else repr(default)


def either(name: str, argument: str, value: Any, other: Any, default: Any) -> Any:
    """An argument passed under its own name or NumPy's. TypeError for both."""
    if other is None:
        return value
    if value is not default and value != default:
        raise TypeError(
            f"{name}() got an unexpected keyword argument '{ALIASES[argument]}': it is another"
            f" name of '{argument}', which is {value!r}"
        )
    return other


def require_arguments(name: str, **values: Any) -> None:
    """Raise TypeError for a missing required argument."""
    for argument, value in values.items():
        if value is MISSING:
            raise TypeError(f"{name}() missing 1 required positional argument: '{argument}'")


def either_keepdim(name: str, keepdim: Any, keepdims: Any) -> Any:
    """`keepdim` under either name. TypeError for both, and for a number."""
    keepdim = either(name, "keepdim", keepdim, keepdims, False)
    if not isinstance(keepdim, (bool, np.bool_)):
        raise TypeError(
            f"{name}(): argument 'keepdim' must be bool, not {type(keepdim).__name__}: it is"
            f" {keepdim!r}. Several dimensions come in a tuple: dim=(0, 1)"
        )
    return keepdim


def either_dims(
    name: str, dim: Any, axis: Any, keepdim: Any, keepdims: Any, default: Any = None
) -> tuple[Any, Any]:
    """`dim` (default `default`) and `keepdim`: see `either` and `either_keepdim`."""
    return (
        either(name, "dim", dim, axis, default),
        either_keepdim(name, keepdim, keepdims),
    )
