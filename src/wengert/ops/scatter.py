"""Operations: a copy of the input with values written or combined at indices."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.kernels import layout
from wengert.kernels.axes import axis_of
from wengert.kernels.chunks import plain
from wengert.ops.batching import Batch
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, primitive
from wengert.ops.gathering import (
    elementwise_batch,
    elementwise_index,
    gather,
    with_dims,
)
from wengert.ops.masking import clamp_min, number_of
from wengert.ops.numpy_names import MISSING, either, require_arguments
from wengert.ops.outputs import write_out
from wengert.ops.shape import reshape
from wengert.ops.subscript import basic, basic_adjoint
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop, keep, no_slope, or_zeros


def _scatter_parts(
    name: str, input: np.ndarray, dim: int, index: Any, src: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """A copy of the input, the checked index, its axis, and the part of `src` it covers.

    Their layout is the one that the functions of `kernels.scatter` need.
    """
    out = with_dims(input).copy()
    key, axis = elementwise_index(name, out, dim, index)
    if src.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got"
            f" {of_numpy[input.dtype]} and {of_numpy[src.dtype]}"
        )
    if not index.size:
        return out, key, axis, np.zeros((0,) * out.ndim, src.dtype)
    shape = with_dims(index).shape
    src = with_dims(src)
    if src.ndim != len(shape):
        raise (IndexError if src.ndim <= axis_of(dim, out.ndim) else RuntimeError)(
            "Index tensor must have the same number of dimensions as src tensor:"
            f" {name}() got index of shape {list(shape)} and src of shape {list(src.shape)}"
        )
    if src.shape == shape == out.shape and key.dtype == np.int64:
        return out, key, axis, plain(src)
    if any(n > m for n, m in zip(shape, src.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(shape)} to be no larger than self {list(input.shape)} apart from"
            f" dimension {dim} and to be no larger size than src {list(src.shape)}"
        )
    fitted = src[tuple(slice(n) for n in shape)]
    return out, key.astype(np.int64, copy=False), axis, plain(fitted)


def _batch(b: Batch) -> Any:
    return elementwise_batch(b, like="input")


def _src_gradient(g: Any, src_shape: tuple[int, ...], dim: int, index: Any) -> Any:
    """The cotangent of `src`: gathered at its indices, zeros for elements not used."""
    gradient = gather(g, dim, index)
    shape = gradient.shape
    return gradient if shape == src_shape else _padded(gradient, src_shape)


def _padded(gradient: Any, shape: tuple[int, ...]) -> Any:
    if not gradient.ndim:
        return reshape(gradient, shape)
    return basic_adjoint(gradient, shape, tuple(slice(n) for n in gradient.shape))


@primitive(
    input=lambda g, dim, index: _scatter_number(g, dim, index, 0),
    index=None,
    src=lambda g, src_shape, dim, index: _src_gradient(g, src_shape, dim, index),
    mixed=False,
    batch=_batch,
    jvp=lambda d_input, d_src, input, dim, index, src: _scatter(
        or_zeros(d_input, input), dim, index, or_zeros(d_src, src)
    ),
    label="ScatterBackward0",
    layout="contiguous",
)
def _scatter(input: Value, dim: int, index: Value, src: Value) -> Value:
    out, key, axis, fitted = _scatter_parts("scatter", input, dim, index, src)
    if fitted.size:
        kernels.scatter.put_along(out, key, axis, fitted)
    return out.reshape(input.shape)


@primitive(
    input=lambda g, dim, index: _scatter_number(g, dim, index, 0),
    index=None,
    mixed=False,
    batch=_batch,
    jvp=lambda d_input, dim, index: _scatter_number(d_input, dim, index, 0),
    label="ScatterBackward1",
    name="scatter",
    layout="contiguous",
)
def _scatter_number(input: Value, dim: int, index: Value, value: Any) -> Value:
    out = np.array(with_dims(np.asarray(input)), order="C")
    places, axis = elementwise_index("scatter", out, dim, index)
    if places.size:
        values = layout.full(places.shape, out.dtype, value)
        places = places.astype(np.int64, copy=False)
        kernels.scatter.put_along(out, places, axis, values)
    return out.reshape(input.shape)


def scatter(
    input: Tensor,
    dim: int = MISSING,
    index: Tensor = MISSING,
    src: Any = None,
    *,
    reduce: str | None = None,
    value: complex | None = None,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the input with values written along `dim` at the positions in `index`.

    The values are the elements of `src` in the index's shape, or one number. With
    ``reduce="add"`` or ``"multiply"`` they are combined with the existing elements.

    >>> import wengert
    >>> index = wengert.tensor([[0], [1]])
    >>> wengert.scatter(wengert.zeros(2, 2), 1, index, wengert.tensor([[1.0], [2.0]]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    if axis is not None or dim is MISSING or index is MISSING:
        dim = either("scatter", "dim", dim, axis, MISSING)
        require_arguments("scatter", dim=dim, index=index)
    if out is not None:
        return write_out(scatter, out, input, dim, index, src, reduce=reduce, value=value)
    require_tensor("scatter", "input", input)
    require_tensor("scatter", "index", index, 3)
    src = value if src is None else src
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"reduce argument must be either add or multiply. Got {reduce!r}")
        full = src if isinstance(src, Tensor) else _filled(index, src, input)
        if reduce == "add":
            return scatter_add(input, dim, index, full)
        return scatter_reduce(input, dim, index, full, "prod")
    if isinstance(src, Tensor):
        return _scatter(input, dim, index, src)
    if not isinstance(src, (int, float, complex, np.generic)):
        raise TypeError(
            f"scatter(): argument 'src' (position 4) must be Tensor, not {type(src).__name__}"
        )
    return _scatter_number(input, dim, index, number_of(input._outline.dtype, src, "scatter")[()])


def _filled(index: Tensor, value: Any, like: Tensor) -> Any:
    return wrap(np.full(index._outline.shape, value, like._outline.dtype))


@primitive(
    input=lambda g: g,
    index=None,
    src=lambda g, src_shape, dim, index: _src_gradient(g, src_shape, dim, index),
    mixed=False,
    batch=_batch,
    jvp=lambda d_input, d_src, input, dim, index, src: scatter_add(
        or_zeros(d_input, input), dim, index, or_zeros(d_src, src)
    ),
    layout="contiguous",
)
def scatter_add(input: Value, dim: int, index: Value, src: Value) -> Value:
    """As `scatter`, adding the elements of `src`; repeated indices accumulate.

    >>> import wengert
    >>> index = wengert.tensor([0, 0, 1])
    >>> wengert.scatter_add(wengert.zeros(2), 0, index, wengert.tensor([1.0, 2.0, 3.0]))
    tensor([3., 3.])
    """
    out, key, axis, fitted = _scatter_parts("scatter_add", input, dim, index, src)
    if fitted.size:
        kernels.scatter.add_along(out, key, axis, fitted)
    return out.reshape(input.shape)


_COMBINE = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _identity(reduce: str, dtype: np.dtype[Any]) -> Any:
    """The neutral element of a reduction."""
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def scatter_reduce(
    input: Tensor,
    dim: int = MISSING,
    index: Tensor = MISSING,
    src: Tensor = MISSING,
    reduce: str = MISSING,
    *,
    include_self: bool = True,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """As `scatter`, reducing the elements with the same index by sum, prod, mean, amax or amin.

    `include_self` includes the input's own element.

    >>> import wengert
    >>> x, index = wengert.zeros(2), wengert.tensor([0, 0, 1])
    >>> wengert.scatter_reduce(x, 0, index, wengert.tensor([1.0, 2.0, 3.0]), "amax")
    tensor([2., 3.])
    """
    if (
        axis is not None
        or dim is MISSING
        or index is MISSING
        or src is MISSING
        or reduce is MISSING
    ):
        dim = either("scatter_reduce", "dim", dim, axis, MISSING)
        require_arguments("scatter_reduce", dim=dim, index=index, src=src, reduce=reduce)
    if out is not None:
        return write_out(
            scatter_reduce, out, input, dim, index, src, reduce, include_self=include_self
        )
    if reduce in _COMBINE:
        return _scatter_combined(input, dim, index, src, reduce, include_self)
    if reduce not in ("sum", "mean"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    total = scatter_add(
        input if include_self else _scatter_number(input, dim, index, 0), dim, index, src
    )
    if reduce == "sum" or not index._outline.size:
        return total
    dtype = total._outline.dtype
    own = wrap(np.full(tuple(input.shape), include_self, dtype))
    counts = scatter_add(own, dim, index, wrap(np.ones(tuple(index.shape), dtype)))
    if not include_self:  # with which each is 1 at least
        counts = clamp_min(counts, 1)
    return total // counts if dtype.kind in "iu" else total / counts


@primitive(
    input=lambda g, input, dim, index, src, out, reduce, include_self: _own_gradient(
        g, input, dim, index, src, out, reduce, include_self
    ),
    index=None,
    src=lambda g, input, dim, index, src, out, reduce, include_self: _combined_gradient(
        g, input, dim, index, src, out, reduce, include_self
    ),
    mixed=False,
    batch=_batch,
    label="ScatterReduceBackward0",
    name="scatter_reduce",
    layout="contiguous",
)
def _scatter_combined(
    input: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> Value:
    """The product or an extremum of the elements with the same index."""
    out, key, axis, fitted = _scatter_parts("scatter_reduce", input, dim, index, src)
    if fitted.size:
        if not include_self:
            out[kernels.scatter.along(key, axis)] = _identity(reduce, out.dtype)
        kernels.scatter.combine_along(_COMBINE[reduce], out, key, axis, fitted)
    return out.reshape(input.shape)


def _own_gradient(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool
) -> Any:
    """The cotangent of the input of `_scatter_combined`."""
    if 0 in index.shape:
        return g
    if not include_self:
        return _scatter_number(g, dim, index, 0)
    if reduce == "prod":
        return g * conj(_scatter_combined(_ones(input), dim, index, src, "prod", True))
    own, _, reached = _reached(input, dim, index, src, out, include_self)
    return keep(g / reached, own)


def _combined_gradient(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool
) -> Any:
    """The cotangent of the `src` of `_scatter_combined`."""
    if 0 in index.shape:
        return no_slope(src)
    if reduce == "prod":
        gradient = _product_gradient(g, input, dim, index, src, out, include_self)
    else:
        _, came, reached = _reached(input, dim, index, src, out, include_self)
        gradient = keep(gather(g / reached, dim, index), came)
    return gradient if gradient.shape == src.shape else _padded(gradient, tuple(src.shape))


def _ones(like: Any) -> Any:
    return no_slope(like) + 1


def _reached(
    input: Any, dim: int, index: Any, src: Any, out: Any, include_self: bool
) -> tuple[Any, Any, Any]:
    """The elements of input and src that are extreme, and the number of ties at each position."""
    own = input == out
    if not include_self:
        own = _scatter_number(own, dim, index, False)
    there = gather(out, dim, index)
    came = _used(src, index) == there
    counts = scatter_add(keep(_ones(out), own), dim, index, keep(_ones(there), came))
    return own, came, counts + (counts == 0)


def _used(src: Any, index: Any) -> Any:
    """The part of `src` covered by the index."""
    if src.shape == index.shape:
        return src
    if not index.ndim:
        return reshape(basic(src, (slice(1),)), ())
    return basic(reshape(src, (1,)) if not src.ndim else src, tuple(map(slice, index.shape)))


def _product_gradient(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, include_self: bool
) -> Any:
    """The product of the other factors; for zeros without dividing by them."""
    used = _used(src, index)
    zero = used == 0
    if isinstance(used, np.ndarray) and not zero.any():
        return gather(g, dim, index) * conj(gather(out, dim, index) / used)
    ones = _ones(used)
    nonzero = drop(used, zero) + keep(ones, zero)
    other_factors = _scatter_combined(input, dim, index, nonzero, "prod", include_self)
    others = gather(other_factors, dim, index) * _other_zeros(used, zero, dim, index, no_slope(out))
    back = gather(g, dim, index)
    return keep(back * conj(others), zero) + drop(
        back * conj(gather(out, dim, index) / nonzero), zero
    )


def _other_zeros(used: Any, zero: Any, dim: int, index: Any, none: Any) -> Any:
    """For each zero the product of the other zeros at its position.

    It is 0 or 1, but its derivatives are not those of a constant: the zeros at each position are
    numbered, and those with the same number form one factor.
    """
    ones = _ones(used)
    counts = scatter_add(none, dim, index, keep(ones, zero))
    most = int(_values(counts).max(initial=0).real)
    if not isinstance(used, Tensor) or most < 2:
        return keep(ones, gather(counts, dim, index) == 1)
    factors, firsts = [], []
    for _ in range(most):
        first = _first_of_each(zero, dim, index, none)
        one_there = scatter_add(none, dim, index, keep(ones, first))
        factors.append(scatter_add(none, dim, index, keep(used, first)) + (1 - one_there))
        firsts.append(first)
        zero = zero & ~first
    before = [none + 1, *accumulate(factors[:-1], mul)]
    after = [none + 1, *accumulate(factors[:0:-1], mul)]
    return sum(
        keep(gather(b * a, dim, index), first)
        for b, a, first in zip(before, reversed(after), firsts, strict=True)
    )


def _first_of_each(mask: Any, dim: int, index: Any, like: Any) -> Any:
    """The first element of a mask at each position."""
    size = prod(mask.shape)
    order = wrap(np.arange(size).reshape(tuple(mask.shape)))
    numbers = order + size * (~mask)
    lowest = _scatter_combined(
        wrap(np.full(tuple(like.shape), size)), dim, index, numbers, "amin", True
    )
    return mask & (gather(lowest, dim, index) == order)


def _values(value: Any) -> np.ndarray:
    return memory_of(value) if isinstance(value, Tensor) else value


__all__ = ["scatter", "scatter_add", "scatter_reduce"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("scatter", "scatter_add", "scatter_reduce")
INPLACE = ("scatter", "scatter_add", "scatter_reduce")
