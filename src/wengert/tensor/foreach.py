"""`torch._foreach_*`: one operation on each tensor of a list.

All of them are made by `function_of` from the operations and their in-place forms, which check,
promote and record as ever. What comes beside the first list is a list of the same length, or one
value for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert import ops
from wengert.core import storage
from wengert.core.tensor import Tensor, caller, getframe, mode, tensors
from wengert.kernels import optim as formulas
from wengert.ops.numbers import Number
from wengert.ops.outputs import check_memory
from wengert.tensor._inplace import check_writable

_UNARY = frozenset({
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
    "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
})  # fmt: skip
# The operation, and the names of what comes beside the first list.
_BESIDE: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    **dict.fromkeys(_UNARY, ("", ())),
    **{
        name: (own, (("other", "scalar", "scalars"),))
        for name, own in {
            "add": "", "clamp_max": "", "clamp_min": "", "div": "", "maximum": "clamp_min",
            "minimum": "clamp_max", "mul": "", "sub": "",
        }.items()
    },
    "addcdiv": ("", (("tensor1",), ("tensor2",), ("value", "scalars"))),
    "addcmul": ("", (("tensor1",), ("tensor2",), ("value", "scalars"))),
    "lerp": ("", (("tensors1",), ("weights", "weight"))),
    "pow": ("", (("exponent",),)),
}  # fmt: skip
_ONLY_NEW = {"clone": ops.clone, "max": ops.max, "mm": ops.mm}
_ONLY_IN_PLACE = frozenset({"copy", "zero"})


@cache
def function_of(name: str) -> Callable[..., Any]:
    """The function called ``_foreach_...``. AttributeError for a name that PyTorch lacks."""
    in_place = name.endswith("_")
    base = name.removeprefix("_foreach_").removesuffix("_")
    own, beside = _BESIDE.get(base, ("", ()))
    operation: Any
    if in_place and (base in _BESIDE or base in _ONLY_IN_PLACE):
        operation = getattr(Tensor, f"{own or base}_")
    elif not in_place and base in _BESIDE:
        operation = getattr(ops, own or base)
    elif not in_place and base in _ONLY_NEW | _NORMS:
        operation = (_ONLY_NEW | _NORMS)[base]
    else:
        raise AttributeError(f"wengert has no {name!r} (PyTorch has no such function)")
    if base in ("addcdiv", "addcmul"):
        operation = _with_value(operation)

    def function(self: Any, *others: Any, **options: Any) -> Any:
        lists = [*others, *(options.pop(n) for names in beside for n in names if n in options)]
        if base == "pow" and isinstance(self, (*Number, np.generic)):
            self = _plain(self)
            return _each(name, operation, [self] * len(lists[0]), lists, options)
        _require_tensors(name, self)
        if base == "mul" and in_place and _scaled_in_one_pass(name, self, lists):
            return self
        results = _each(name, operation, self, lists, options)
        return self if in_place else results

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{base}` of each tensor of a list" + (", in place." if in_place else ".")
    return function


def _each(
    name: str, operation: Any, firsts: Sequence[Any], lists: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """The operation on the first, the second, ... of all lists."""
    rows = [_spread(name, values, len(firsts)) for values in lists]
    return tuple([operation(*row, **options) for row in zip(firsts, *rows, strict=True)])


def _with_value(operation: Any) -> Any:
    def apply(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
        result: Tensor = operation(self, tensor1, tensor2, value=value)
        return result

    return apply


def _norm(self: Tensor, ord: float = 2, dtype: Any = None) -> Tensor:
    result: Tensor = ops.norm(self, ord, dtype=dtype)
    return result


def _powsum(self: Tensor, ord: float = 2, dtype: Any = None) -> Tensor:
    result: Tensor = ops.sum(ops.pow(ops.abs(self), ord), dtype=dtype)
    return result


_NORMS = {"norm": _norm, "powsum": _powsum}
NAMES = frozenset(f"_foreach_{n}" for n in {*_BESIDE, *_ONLY_NEW, *_ONLY_IN_PLACE, *_NORMS})


def _require_tensors(name: str, values: Any) -> None:
    if not isinstance(values, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not"
            f" {type(values).__name__}"
        )
    if not values:
        raise RuntimeError(f"Tensor list must have at least one tensor: {name}() got none")
    for k, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got"
                f" {type(value).__name__} in {name}()"
            )


def _spread(name: str, values: Any, count: int) -> Sequence[Any]:
    """One value for each tensor of a list of `count`."""
    if isinstance(values, Tensor):
        if name.startswith("_foreach_addc"):  # its elements are the numbers
            values = values.tolist()
        elif values.ndim:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {values.ndim} dimensions and"
                f" {values.numel()} elements in {name}()"
            )
    if not isinstance(values, (list, tuple)):
        if isinstance(values, (Tensor, *Number, np.generic)):
            return [_plain(values)] * count
        raise TypeError(
            f"{name}() received an invalid combination of arguments: expected a list, a Tensor or a"
            f" number, got {type(values).__name__}"
        )
    if len(values) == count:
        return [_plain(value) for value in values]
    if values and isinstance(values[0], Tensor):
        raise RuntimeError(
            "Tensor lists must have the same number of tensors, got"
            f" {count} and {len(values)} in {name}()"
        )
    raise RuntimeError(
        "Tensor list must have same number of elements as scalar list:"
        f" {name}() got {count} and {len(values)}"
    )


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which they stand for."""
    return value.item() if isinstance(value, np.generic) else value


def _scaled_in_one_pass(name: str, targets: Sequence[Tensor], lists: list[Any]) -> bool:
    """Whether the targets could be multiplied by one number all at once, and were."""
    if len(lists) != 1 or type(lists[0]) not in (int, float):
        return False
    for target in targets:
        recorded = target._edge is not None and mode.site is not None
        if recorded or type(target) not in tensors or target._outline.dtype.char not in "fd":
            return False
    arrays = [target._array for target in targets]
    for target in targets:
        check_writable(target, name)
        check_memory(target._array, name)
    formulas.multiplied([arrays], [{"factor": float(lists[0])}] * len(arrays))
    storage.stamp_all(arrays, name, *caller(getframe(1)))
    return True
