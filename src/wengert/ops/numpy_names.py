"""NumPy's names for `dim` and `keepdim`: PyTorch takes `axis` and `keepdims` as well.

The aliases are arguments of their own, behind the others, and a test of two constants in front of
the body (see `keywords`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

ALIASES = {"dim": "axis", "keepdim": "keepdims"}

# Written in Python in PyTorch: it does not rename their arguments.
PLAIN = frozenset({"norm", "split", "unique", "unique_consecutive"})

Defaults = dict[str, Any]  # of arguments, by name; `...` for those that have none


def renamed(arguments: Iterable[str]) -> list[str]:
    """The arguments that have an alias."""
    return [name for name in arguments if name in ALIASES]


def needed(defaults: Defaults) -> list[str]:
    """Required arguments that get a default, because one before them may come as its alias."""
    names = list(defaults)
    first = min([names.index(name) for name in renamed(names)], default=len(names))
    return [name for name in names[first:] if defaults[name] is ...]


def alias_guard(name: str, defaults: Defaults) -> str:
    """The lines in front of a body; they do nothing where neither alias came.

    They see to it as well that `keepdim` is a bool: a call ``x.sum(0, 1)`` means two dimensions.

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
        "    import wengert.ops.numpy_names as _names",
        *[f"    {a} = _names.either({name!r}, {a!r}, {a}, {ALIASES[a]}, {_text(defaults[a])})"
          for a in aliased],
        *[f"    _names.require_argument({name!r}, {r!r}, {r})" for r in required],
        *[f"    _names.require_bool({name!r}, keepdim)" for a in aliased if a == "keepdim"],
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _text(default: Any) -> str:
    return "..." if default is ... else repr(default)


def either(name: str, argument: str, value: Any, other: Any, default: Any) -> Any:
    """An argument that came under its own name or under NumPy's. TypeError for both."""
    if other is None:
        return value
    if value is not default and value != default:
        raise TypeError(
            f"{name}() got an unexpected keyword argument '{ALIASES[argument]}': it is another"
            f" name of '{argument}', which is {value!r}"
        )
    return other


def require_argument(name: str, argument: str, value: Any) -> None:
    """TypeError for a required argument that did not come."""
    if value is ...:
        raise TypeError(f"{name}() missing 1 required positional argument: '{argument}'")


def require_bool(name: str, keepdim: Any) -> None:
    """TypeError for a `keepdim` that is a number."""
    if not isinstance(keepdim, bool | np.bool_):
        raise TypeError(
            f"{name}(): argument 'keepdim' must be bool, not {type(keepdim).__name__}: it is"
            f" {keepdim!r}. Several dimensions come in a tuple: dim=(0, 1)"
        )
