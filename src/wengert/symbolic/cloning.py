"""``theano.clone``: an expression with others in place of some of its variables."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.graph import Constant, Variable, ancestors, replaced
from wengert.symbolic.sharing import SharedVariable


def clone(
    output: Any, replace: Any = None, strict: bool = True, share_inputs: bool = True,
    copy_inputs: Any = None,
) -> Any:  # fmt: skip
    """An expression, or a list of them, built again with other variables in place of some.

    Args:
        output: what to build again.
        replace: a dictionary or pairs of variables and what stands for them.
        strict: whether types have to be the same; broadcastable flags may always be fewer.
        share_inputs: whether inputs that are not replaced stay the same variables.

    >>> from wengert.symbolic import clone, function
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> z = clone(x**2 + 1, replace={x: y * 2})
    >>> function([y], z)(3.0)
    array(37.)
    """
    share_inputs = share_inputs if copy_inputs is None else copy_inputs
    outputs = list(output) if isinstance(output, list | tuple) else [output]
    pairs = list(replace.items()) if isinstance(replace, dict) else list(replace or [])
    table: dict[Any, Any] = {}
    for old, new in pairs:
        if not isinstance(old, Variable):
            raise TypeError(f"clone: {old!r} is no variable and cannot be replaced")
        table[old] = old.type.filter_variable(new) if strict else new
    if not share_inputs:
        for v in ancestors(outputs):
            fixed = v.owner is not None or isinstance(v, Constant | SharedVariable)
            if not fixed and v not in table:
                table[v] = v.clone()
    results = replaced(outputs, table, strict=strict)
    return results if isinstance(output, list | tuple) else results[0]
