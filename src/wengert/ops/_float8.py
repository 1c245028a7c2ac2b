"""Operations that PyTorch lacks for 8-bit floating-point numbers refuse them.

No call looks for them before there are any: then the forward of each operation gives way to one
that does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.core import float8
from wengert.ops.checks import not_implemented
from wengert.ops.op import REGISTRY, Op

# What moves numbers, compares or converts them, and products. So do all views.
_TAKE_FLOAT8 = frozenset({
    "_blocks", "_cast", "_constant_pad", "diagonal_adjoint", "_diagonal_copy", "_discrete",
    "_embedding", "_erase", "_fill_rows", "_index_adjoint", "_index_erased", "_moved",
    "_overwritten", "_part", "_placed", "_put_back", "_where", "abs", "all", "any",
    "basic_adjoint", "bmm", "clone", "contract", "diag_embed", "drop", "eq", "expand_back",
    "expand_to", "flip", "index", "index_copy", "index_select", "index_written", "isnan", "keep",
    "linear", "matmul", "mm", "mul", "ne", "no_slope", "reinterpreted", "repeat", "roll", "times",
    "times_transposed", "transposed_times",
})  # fmt: skip


def refuse_float8() -> None:
    """Have all operations refuse float8 arrays, unless PyTorch's take them."""
    for op in REGISTRY.values():
        op.forward = guarded(op)
        scope = op.function.__globals__
        if "forward" in scope:
            scope["forward"] = op.forward


def guarded(op: Op) -> Callable[..., Any]:
    """The forward of an op; NotImplementedError for float8 arrays where it does not take them."""
    forward = op.forward
    if op.view or op.name in _TAKE_FLOAT8 or hasattr(forward, "takes_no_float8"):
        return forward

    @wraps(forward, assigned=("__name__", "__doc__"), updated=())
    def refusing(*args: Any, **options: Any) -> Any:
        for x in args:
            if isinstance(x, np.ndarray) and float8.is_float8(x.dtype):
                raise not_implemented(op.public_name, x)
        return forward(*args, **options)

    refusing.takes_no_float8 = True  # type: ignore[attr-defined]
    return refusing


float8.in_use.when_first.append(refuse_float8)
