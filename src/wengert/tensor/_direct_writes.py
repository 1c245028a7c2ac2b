"""In-place forms of single ufuncs, written without the operation where nobody needs to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import storage
from wengert.core.dtypes import of_numpy, scalar_array
from wengert.core.tensor import (
    Site,
    Tensor,
    caller,
    getframe,
    inferences,
    mode,
)
from wengert.kernels.jit import LARGE
from wengert.ops.numbers import number_as_array
from wengert.ops.op import REGISTRY
from wengert.ops.outputs import check_memory

Direct = Callable[[Tensor, tuple[Any, ...], dict[str, Any]], bool]

# Ufuncs that write into their first operand where nothing is recorded, by the op's name.
_DIRECT = {
    "_add": np.add, "add": np.add, "_sub": np.subtract, "sub": np.subtract, "mul": np.multiply,
    "_div": np.true_divide, "div": np.true_divide,
}  # fmt: skip
_SUMS = np.add, np.subtract
# What is more than a ufunc for other dtypes.
_OF_FLOATS = {"neg": np.negative, "abs": np.absolute, "_modulus": np.absolute}


def _alone(name: str) -> np.ufunc | None:
    """The ufunc of one operand that an operation of floats is, if it is one."""
    op = REGISTRY.get(name)
    forward = _OF_FLOATS.get(name, None if op is None else op.forward)
    return forward if isinstance(forward, np.ufunc) and forward.nin == forward.nout == 1 else None


def _is_small(target: Any) -> bool:
    """Whether a target whose writes nobody needs to know has few floats, for which no kernel is.

    Without gaps: NumPy 2.4's `np.negative(column, out=column)` is wrong for some lengths of a row.
    """
    if not is_free(target):
        return False
    array = target._array
    flags = array.flags
    few = array.dtype.kind == "f" and array.itemsize >= 4 and array.size < LARGE
    return few and flags.c_contiguous and flags.writeable


def _map(ufunc: np.ufunc, target: Tensor, name: str) -> None:
    """Write a function of each element in its place."""
    array = target._array
    if storage.guards:
        check_memory(array, name)
    ufunc(array, array)
    storage.stamp(array, name, *caller(getframe(1)))


def _fits(ufunc: np.ufunc, target: Tensor, other: Any, options: dict[str, Any]) -> bool:
    """Whether a ufunc gives what an operation and a copy would: no graph, one dtype, one shape.

    Of options sums may have a number `alpha`, for floats that are not many.
    """
    if not is_free(target):
        return False
    array = target._array
    kind = array.dtype.kind
    if array.itemsize < 4 or (kind != "f" and (kind != "i" or ufunc is np.true_divide)):
        return False  # halves have kernels
    if options and (ufunc not in _SUMS or not _has_alpha(options) or array.size > _FEW):
        return False
    if type(other) is not Tensor:
        known = type(other) is int or (type(other) is float and kind == "f")
        return known and not options
    value = other._array
    if other._edge is not None or value.dtype is not array.dtype or (options and kind != "f"):
        return False
    shape = array.shape
    return value.shape == shape or (
        value.ndim < array.ndim and value.shape == shape[array.ndim - value.ndim :]
    )


def _has_alpha(options: dict[str, Any]) -> bool:
    """Whether a real number `alpha` is all there is."""
    return len(options) == 1 and type(options.get("alpha")) in (int, float)


# Elements up to which a temporary array costs less than what a kernel saves; bytes of an array with
# gaps from which one pays off.
_FEW, _LARGE = 1 << 16, 1 << 15


def is_free(target: Any) -> bool:
    """Whether nobody needs to know of a write but the log of writes."""
    if type(target) is not Tensor or target._edge is not None or inferences:
        return False
    if mode.site is None:
        return True
    root = getattr(target, "_root", None)
    if root is None:
        root = target
    if type(mode.site) is not Site or root._edge is not None:
        return False
    return not (views := getattr(root, "_views", None)) or not _has_recorded_views(views)


def _has_recorded_views(views: Iterable[Callable[[], Any]]) -> bool:
    """Whether one of a tensor's views has a history, which a write would change."""
    for reference in views:
        view = reference()
        if view is not None and view._edge is not None:
            return True
    return False


def _write(ufunc: np.ufunc, target: Tensor, other: Any, options: dict[str, Any], name: str) -> None:
    array = target._array
    flags = array.flags
    whole = flags.c_contiguous
    single = whole or 0 not in array.strides
    if storage.guards or not (single and flags.writeable):
        check_memory(array, name)
    if type(other) is Tensor:
        value = other._array
        if options:
            alpha = scalar_array(options["alpha"], of_numpy[array.dtype], name.strip("_"))
            value = np.multiply(value, alpha)
    else:
        value = number_as_array(other, array.dtype)
    if whole or array.nbytes < _LARGE or not kernels.strides.update(ufunc, array, value):
        ufunc(array, value, out=array)
    if type(other) is Tensor:
        target._cut = target._cut or other._cut
    code, lasti = caller(getframe(1))
    storage.stamp(array, name, code, lasti)


def direct_write(operation: str, name: str) -> Direct | None:
    """What writes an operation's result for a target, other arguments and options, if it can.

    It answers whether it has; None if the operation is no ufunc.
    """
    ufunc, alone = _DIRECT.get(operation), _alone(operation)
    if ufunc is not None:

        def pair(target: Tensor, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
            fits = len(args) == 1 and _fits(ufunc, target, args[0], options)
            if fits:
                _write(ufunc, target, args[0], options, name)
            return fits

        return pair
    if alone is None:
        return None

    def one(target: Tensor, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        fits = not (args or options) and _is_small(target)
        if fits:
            _map(alone, target, name)
        return fits

    return one
