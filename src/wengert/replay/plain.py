"""The functions of operations as they are without the fronts of `arming`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.ops.op import Op

# By the name of the operation; `arming` enters them.
plain: dict[str, Callable[..., Any]] = {}


def plain_function(op: Op) -> Callable[..., Any]:
    """What an operation's function does by itself."""
    return plain.get(op.name, op.function)
