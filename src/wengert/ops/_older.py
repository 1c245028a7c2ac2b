"""Calls with PyTorch's argument order from before 1.5, which it still accepts.

Numbers came between the tensors: ``add(input, alpha, other)``, ``addmm(beta, input, alpha, mat1,
mat2)``, as a method ``t.addmm_(beta, alpha, mat1, mat2)``. Arguments beyond today's signature
arrive in `older`; testing it is the only cost for other calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.ops.numbers import Number
from wengert.ops.op import Op


def older_guard(op: Op) -> str:
    """The lines before the body of an operation's function."""
    if not op.older:
        return ""
    inputs = ", ".join(op.inputs)
    params = ", ".join(f"{name!r}: {name}" for name in op.older)
    return f"    if older:\n        return reordered({op.name}, ({inputs}, *older), {{{params}}})\n"


def reordered(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call `function` with today's argument order; TypeError for an order that never existed.

    Args:
        function: takes tensors by position, and the numbers by name.
        args: all positional arguments of the call.
        options: the numbers in their order, as passed by name, with a default of 1.
    """
    numbers = [x for x in args if isinstance(x, Number)]
    tensors = [x for x in args if not isinstance(x, Number)]
    latest = args[1 - len(tensors) :] if len(tensors) > 1 else args
    if (
        not 0 < len(numbers) <= len(options)
        or (len(options) == 1 and isinstance(args[0], Number))
        or any(isinstance(x, Number) for x in latest)
        or any(value != 1 for value in options.values())
    ):
        raise TypeError(
            f"{function.__name__}() received an invalid combination of arguments - got"
            f" ({', '.join(type(x).__name__ for x in args)}): tensors come by position, and"
            f" {' and '.join(options)} by name"
        )
    return function(*tensors, **dict(zip(options, numbers, strict=False)))
