"""Results written into tensors that are there already: `out=`.

A function computes as ever, and what it returns is copied: one implementation for all, in which
`out` may overlap an input. A function that takes the keyword tests it in front of its body, which
is all that other calls pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

import numpy as np

from wengert.core import storage
from wengert.core.dtypes import of_numpy
from wengert.core.float8 import is_float8, rounded
from wengert.core.inference import check_written
from wengert.core.messages import warn
from wengert.core.outline import Outline
from wengert.core.overriding import answering, overriding
from wengert.core.sparse import SparseTensor, unsupported
from wengert.core.tensor import (
    Tensor,
    Tracer,
    caller,
    cut_from,
    getframe,
    inferences,
    mode,
)
from wengert.kernels.layout import is_dense, repeats
from wengert.ops._out_names import COMPUTE_IN_OUT, EXACT
from wengert.ops.operands import ask_classes
from wengert.ops.results import Results, kind_of

# Of complex numbers these are real, and are converted to the dtype of `out`.
_OF_PARTS = frozenset({"abs", "absolute"})
# They write booleans to bytes, too.
_OF_TRUTHS = frozenset({"all", "any"})

P = ParamSpec("P")
R = TypeVar("R")


def write_out(function: Callable[P, R], out: Any, /, *args: P.args, **options: P.kwargs) -> R:
    """Call a function, and write its results into `out`, which is returned.

    One tensor for a function that returns one, else a tuple or list of them. Classes that answer
    for an argument are asked first.
    """
    outs = out if type(out) in (tuple, list) else (out,)
    inputs = [*_tensors_of(args), *_tensors_of(options.values())]
    if not (overriding.off or overriding.subclasses_off):
        asked = answering([*inputs, *outs])
        if asked:
            answer: R = ask_classes(function, asked, args, {**options, "out": out})
            return answer
    op = getattr(function, "op", None)
    name = function.__name__ if op is None else op.public_name
    _check_outs(name, outs)
    check_unrecorded(name, [*inputs, *outs])
    exact = name in EXACT and not (name in _OF_PARTS and inputs and inputs[0].is_complex())
    if name in COMPUTE_IN_OUT and isinstance(out, Tensor):
        exact = True
        if options.get("dtype") is None:
            options["dtype"] = of_numpy[out._outline.dtype]
    result: Any = function(*args, **options)
    expected = 1 if isinstance(result, Tensor) else len(result)
    if len(outs) != expected or (outs is out) is isinstance(result, Tensor):
        raise TypeError(
            f"{name}(): argument 'out' must be"
            f" {'Tensor' if expected == 1 else f'a tuple of {expected} Tensors'}, not"
            f" {f'a tuple of {len(outs)}' if outs is out else type(out).__name__}"
        )
    if isinstance(result, Tensor):
        for x in inputs:
            if not isinstance(x, SparseTensor):
                _check_overlap(x._array, out._array, result._outline.shape)
        result = fill(name, out, result, exact)
    else:
        pairs = zip(outs, result, strict=True)
        filled = [fill(name, target, value, exact=True) for target, value in pairs]
        result = _like(result, filled)
    return result


def _like(results: Any, filled: list[Tensor]) -> Any:
    """What was written, named as the results are."""
    if isinstance(results, Results):
        return kind_of(f"{type(results).__name__}_out")(filled)
    return results._make(filled) if hasattr(results, "_make") else type(results)(filled)


def _check_outs(name: str, outs: Iterable[Any]) -> None:
    """TypeError for what is no tensor, NotImplementedError for what is sparse."""
    for out in outs:
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if isinstance(out, SparseTensor):
            raise unsupported(f"{name}.out", out)


def fill(name: str, out: Tensor, result: Tensor, exact: bool = False) -> Tensor:
    """Write a result into `out`, which takes its shape; with `exact` it must have its dtype."""
    if isinstance(result, SparseTensor):
        raise unsupported(f"{name}.out", result)
    array, value = out._array, result._array
    if result._edge is not None:
        raise _recorded(name)
    if exact and value.dtype != array.dtype:
        _check_exact(name, value.dtype, array.dtype)
    check_castable(value.dtype, array.dtype, name)
    if inferences:
        check_written((out,), name)
    array = _resized(name, out, value.shape)
    if isinstance(array, Outline):  # on the meta device there is nothing to write
        return out
    if isinstance(value, Outline):
        raise value.refusal()
    check_memory(array, name)
    if is_float8(array.dtype) and value.dtype != array.dtype:
        value = rounded(value, array.dtype)
    np.copyto(array, value, casting="unsafe")
    storage.stamp(array, f"{name}(out=)", *caller(getframe(1)))
    if out._edge is None:
        out._cut = cut_from((result,))
    return out


def _check_exact(name: str, value: np.dtype[Any], target: np.dtype[Any]) -> None:
    """RuntimeError for an `out` of another dtype than the result's, except bytes for truths."""
    if name not in _OF_TRUTHS:
        raise RuntimeError(
            f"Expected out tensor to have dtype {of_numpy[value]}, but got"
            f" {of_numpy[target]} instead in {name}()"
        )
    if target != np.uint8:
        raise RuntimeError(
            f"{name} only supports bool tensor for result, got: {of_numpy[target].short}"
        )


def _resized(name: str, out: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """The memory of `out` in the shape of a result, with a warning if it had elements."""
    array = out._array
    if array.shape == shape:
        return array
    if array.size:
        warn(
            "An output with one or more elements was resized since it had shape"
            f" {list(array.shape)}, which does not match the required output shape {list(shape)}"
            f" of {name}(); in PyTorch this is deprecated. An empty tensor, as after"
            " out.resize_(0), is resized without this warning."
        )
    return out.resize_(shape)._array


def _tensors_of(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_of(value)


def check_unrecorded(name: str, tensors: Iterable[Tensor]) -> None:
    """RuntimeError if a call with `out` has to be recorded, or to be transformed."""
    for tensor in tensors:
        if isinstance(tensor, Tracer) and not tensor.level.memoryless:
            raise RuntimeError(f"{name}(): out= is not supported inside of a function transform")
        if tensor._edge is not None and mode.site is not None:
            raise _recorded(name)


def _recorded(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but"
        " one of the arguments requires grad."
    )


def _check_overlap(input: np.ndarray, out: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise where an input of the result's shape shares some of its elements with `out`."""
    if isinstance(input, Outline) or isinstance(out, Outline):
        return
    if input.shape != shape or not np.may_share_memory(input, out):
        return
    same = input.ctypes.data == out.ctypes.data and input.shape == out.shape
    if not (same and input.strides == out.strides) and is_dense(input) and is_dense(out):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor"
            " refer to a single memory location. Please clone() the tensor before performing the"
            " operation."
        )


def check_castable(value: np.dtype[Any], target: np.dtype[Any], name: str) -> None:
    """RuntimeError where values would lose more than precision in another dtype."""
    a, b = of_numpy[value], of_numpy[target]
    if a.category > b.category:
        raise RuntimeError(
            f"result type {a.short} can't be cast to the desired output type {b.short} in {name}()"
        )


def check_memory(array: np.ndarray, name: str, one_value: bool = False) -> bool:
    """Before a write, raise if the elements of an array cannot be written individually.

    With `one_value`, when all elements are set to the same value, elements may overlap; returns
    whether they do.
    """
    flags = array.flags
    if not flags.writeable:
        raise RuntimeError(
            f"{name}(): the tensor's memory is read-only, as the NumPy array that it came from;"
            " call .clone() first"
        )
    repeated = not flags.c_contiguous and 0 in array.strides and repeats(array)
    if repeated and not one_value:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a"
            " single memory location. Please clone() the tensor before performing the operation."
            f" {name}() got a tensor of shape {list(array.shape)} with strides"
            f" {array.strides} bytes."
        )
    if storage.guards:
        storage.before_write(array)
    return repeated
