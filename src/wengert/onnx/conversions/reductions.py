"""Sums, means, extrema and their places, sorting, cumulative sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.onnx.builder import Builder, Value, converts


def _axes(b: Builder, input: Value, dim: Any) -> str | None:
    """The axes of a reduction; None for all."""
    if dim is None or dim in ((), []):
        return None
    return b.ints([input.axis(d) for d in (dim if isinstance(dim, tuple | list) else [dim])])


def _reduce(b: Builder, op: str, input: Any, axes: str | None, keepdim: bool) -> str:
    return b(op, input, axes, keepdims=int(keepdim))


@converts("sum_over")
def _sum(b: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> str:
    x = b.cast(input, b.out.dtype)
    return _reduce(b, "ReduceSum", x, _axes(b, input, dim), keepdim) if input.rank else x


@converts("mean_over")
def _mean(b: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> str:
    x = b.cast(input, b.out.dtype)
    return _reduce(b, "ReduceMean", x, _axes(b, input, dim), keepdim)


@converts("amax")
def _amax(b: Builder, input: Value, dim: Any = (), keepdim: bool = False) -> str:
    return _reduce(b, "ReduceMax", input, _axes(b, input, dim), keepdim)


@converts("amin")
def _amin(b: Builder, input: Value, dim: Any = (), keepdim: bool = False) -> str:
    return _reduce(b, "ReduceMin", input, _axes(b, input, dim), keepdim)


@converts("_max_of_all")
def _max_of_all(b: Builder, input: Value) -> str:
    return _reduce(b, "ReduceMax", input, None, False)


@converts("_min_of_all")
def _min_of_all(b: Builder, input: Value) -> str:
    return _reduce(b, "ReduceMin", input, None, False)


@converts("_prod")
def _prod(b: Builder, input: Value, dim: Any, keepdim: bool) -> str:
    return _reduce(b, "ReduceProd", b.cast(input, b.out.dtype), _axes(b, input, dim), keepdim)


@converts("logsumexp")
def _logsumexp(b: Builder, input: Value, dim: Any, keepdim: bool = False) -> str:
    return _reduce(b, "ReduceLogSumExp", input, _axes(b, input, dim), keepdim)


def _reduced_mask(b: Builder, op: str, input: Value, dim: Any, keepdim: bool) -> str:
    truth = b("Cast", b.cast(input, bool), to=b.type_of(np.int32))
    return b("Cast", _reduce(b, op, truth, _axes(b, input, dim), keepdim), to=b.type_of(bool))


@converts("all")
def _all(b: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> str:
    return _reduced_mask(b, "ReduceMin", input, dim, keepdim)


@converts("any")
def _any(b: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> str:
    return _reduced_mask(b, "ReduceMax", input, dim, keepdim)


@converts("count_nonzero")
def _count_nonzero(b: Builder, input: Value, dim: Any = None) -> str:
    truth = b("Cast", b.cast(input, bool), to=b.type_of(np.int64))
    return _reduce(b, "ReduceSum", truth, _axes(b, input, dim), False)


@converts("vector_norm")
def _vector_norm(
    b: Builder, input: Value, p: float = 2, dim: Any = None, keepdim: bool = False
) -> str:
    axes = _axes(b, input, dim)
    if p in (1, 2):
        return _reduce(b, f"ReduceL{int(p)}", input, axes, keepdim)
    if p == np.inf:
        return _reduce(b, "ReduceMax", b("Abs", input), axes, keepdim)
    powers = b("Pow", b("Abs", input), b.scalar(p, input.dtype))
    total = _reduce(b, "ReduceSum", powers, axes, keepdim)
    return b("Pow", total, b.scalar(1 / p, input.dtype))


@converts("_shrunk")
def _shrunk(b: Builder, input: Value, p: float, dim: Any, maxnorm: float) -> str:
    norms = _vector_norm(b, input, p, dim, True)
    most, dtype = b.scalar(maxnorm, input.dtype), input.dtype
    factors = b("Div", most, b("Add", norms, b.scalar(1e-7, dtype)))
    return b("Mul", input, b("Where", b("Greater", norms, most), factors, b.scalar(1, dtype)))


def _variance(b: Builder, input: Value, dim: Any, correction: float, keepdim: bool) -> str:
    axes = _axes(b, input, dim)
    centred = b("Sub", input, _reduce(b, "ReduceMean", input, axes, True))
    total = _reduce(b, "ReduceSum", b("Mul", centred, centred), axes, keepdim)
    ones = b("Expand", b.scalar(1, input.dtype), b("Shape", input))
    count = _reduce(b, "ReduceSum", ones, axes, keepdim)
    return b("Div", total, b("Sub", count, b.scalar(correction, input.dtype)))


@converts("_var")
def _var(b: Builder, input: Value, dim: Any, correction: float, keepdim: bool) -> str:
    return _variance(b, input, dim, correction, keepdim)


@converts("_std")
def _std(b: Builder, input: Value, dim: Any, correction: float, keepdim: bool) -> str:
    return b("Sqrt", _variance(b, input, dim, correction, keepdim))


def _place(b: Builder, op: str, input: Value, dim: Any, keepdim: bool) -> str:
    x: Any = b.cast(input, np.int32) if input.dtype.kind == "b" else input
    if dim is None:
        flat = b(op, b.reshape(x, (-1,)), axis=0, keepdims=0)
        return b.reshape(flat, (1,) * input.rank) if keepdim else flat
    if not input.rank:
        return b.constant(0, np.int64)
    return b(op, x, axis=input.axis(dim), keepdims=int(keepdim))


@converts("argmax", "_place_of_max")
def _argmax(b: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> str:
    return _place(b, "ArgMax", input, dim, keepdim)


@converts("argmin", "_place_of_min")
def _argmin(b: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> str:
    return _place(b, "ArgMin", input, dim, keepdim)


@converts("_top_places")
def _top_places(b: Builder, input: Value, k: Any, dim: int, largest: bool) -> str:
    return b.several("TopK", 2, input, b.ints(k), axis=input.axis(dim), largest=int(largest))[1]


@converts("_sorted_places", "argsort")
def _sorted_places(
    b: Builder, input: Value, dim: int = -1, descending: bool = False, stable: bool = False
) -> str:
    axis = input.axis(dim)
    size = b("Shape", input, start=axis, end=axis + 1)
    return b.several("TopK", 2, input, size, axis=axis, largest=int(descending))[1]


@converts("_cumsum")
def _cumsum(b: Builder, input: Value, dim: int, reverse: bool = False) -> str:
    axis = b.constant(input.axis(dim), np.int64)
    return b("CumSum", b.cast(input, b.out.dtype), axis, reverse=int(reverse))
