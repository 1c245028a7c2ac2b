"""Variances, medians, modes, quantiles and covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.kernels import reduction as kernel
from wengert.kernels.axes import Dims, axis_of, count_of, kept_shape
from wengert.ops._picking import picked, take_along
from wengert.ops._reducing import as_rows, batch_over
from wengert.ops.arithmetic import lerp
from wengert.ops.batch_fallbacks import one_by_one
from wengert.ops.batching import Batch, batch_along
from wengert.ops.comparison import isnan
from wengert.ops.complexes import complex
from wengert.ops.declare import Value, primitive
from wengert.ops.extrema import share_of_ties
from wengert.ops.masking import where
from wengert.ops.numpy_names import either_dims
from wengert.ops.outputs import write_out
from wengert.ops.reduction import inverse_or_zero, mean_over, pushed, unreduced
from wengert.ops.results import ValuesIndices
from wengert.ops.shape import contiguous
from wengert.ops.sort import argsort
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import ones_matching


def _degrees(shape: tuple[int, ...], dim: Dims, correction: float) -> float:
    return count_of(shape, dim) - correction


def _variance(name: str, input: np.ndarray, dim: Dims, correction: float, keepdim: bool) -> Any:
    if input.dtype not in dtypes.inexact:
        raise RuntimeError(
            "std and var only support floating point and complex dtypes, but got"
            f" {dtypes.of_numpy[input.dtype]}"
        )
    if not input.size or _degrees(input.shape, dim, correction) <= 0:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the"
            " reduction factor (input numel divided by output numel)."
        )
    return kernel.variance(input, dim, correction, keepdim)


def _var_vjp(g: Value, input: Value, dim: Dims, correction: float, keepdim: bool) -> Value:
    degrees = _degrees(input.shape, dim, correction)
    slope = 2.0 / degrees if degrees else math.inf
    centred = input - mean_over(input, dim, True)
    return unreduced(g * slope, input.shape, dim, keepdim) * centred


def _var_jvp(
    t: Value, input: Value, out: Value, dim: Dims, correction: float, keepdim: bool
) -> Value:
    gradient = _var_vjp(ones_matching(out), input, dim, correction, keepdim)
    return pushed(gradient, t, out, dim, keepdim)


@primitive(
    input=_var_vjp, jvp=_var_jvp, batch=batch_over, label="VarBackward0", layout="contiguous"
)
def _var(input: Value, dim: Dims, correction: float, keepdim: bool) -> Value:
    return _variance("var", input, dim, correction, keepdim)


def _std_vjp(
    g: Value, input: Value, out: Value, dim: Dims, correction: float, keepdim: bool
) -> Value:
    return _var_vjp(g * 0.5 * inverse_or_zero(out), input, dim, correction, keepdim)


def _std_jvp(
    t: Value, input: Value, out: Value, dim: Dims, correction: float, keepdim: bool
) -> Value:
    slope = 0.5 * inverse_or_zero(out)
    return slope * _var_jvp(t, input, out, dim, correction, keepdim)


@primitive(
    input=_std_vjp, jvp=_std_jvp, batch=batch_over, label="StdBackward0", layout="contiguous"
)
def _std(input: Value, dim: Dims, correction: float, keepdim: bool) -> Value:
    return np.sqrt(_variance("std", input, dim, correction, keepdim))


def _spread_arguments(
    name: str, dim: Any, unbiased: bool | None, correction: float | None
) -> tuple[Dims, float]:
    """`dim` and the correction of a call; its first argument may also be `unbiased`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        if unbiased is not None and not isinstance(unbiased, (bool, np.bool_)):
            raise TypeError(
                f"{name}(): argument 'unbiased' must be bool, not {type(unbiased).__name__}: it is"
                f" {unbiased!r}. Several dimensions come in a tuple: dim=(0, 1)"
            )
        return dim, 1.0 if unbiased is None or unbiased else 0.0
    if unbiased is not None:
        raise TypeError(f"{name}(): takes either 'unbiased' or 'correction', and got both")
    return dim, float(correction)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Variance over `dim`, or over everything, with `correction` (1) subtracted from the count.

    `unbiased=False` is `correction=0`. Integers raise a RuntimeError.

    >>> import wengert
    >>> wengert.var(wengert.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
    tensor(1.2500)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("var", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(var, out, input, dim, unbiased, keepdim, correction=correction)
    dim, c = _spread_arguments("var", dim, unbiased, correction)
    return _var(input, dim, c, keepdim)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Standard deviation: the square root of `var`. Its gradient is 0 at 0.

    >>> import wengert
    >>> wengert.std(wengert.tensor([1.0, 3.0, 5.0]))
    tensor(2.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("std", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(std, out, input, dim, unbiased, keepdim, correction=correction)
    dim, c = _spread_arguments("std", dim, unbiased, correction)
    return _std(input, dim, c, keepdim)


def var_mean(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """`var` and `mean` over the same dimensions.

    >>> import wengert
    >>> wengert.var_mean(wengert.tensor([1.0, 3.0, 5.0]))
    (tensor(4.), tensor(3.))
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("var_mean", dim, axis, keepdim, keepdims)
    dim, c = _spread_arguments("var_mean", dim, unbiased, correction)
    return _var(input, dim, c, keepdim), mean_over(input, dim, keepdim)


def std_mean(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """`std` and `mean` over the same dimensions.

    >>> import wengert
    >>> wengert.std_mean(wengert.tensor([1.0, 3.0, 5.0]))
    (tensor(2.), tensor(3.))
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("std_mean", dim, axis, keepdim, keepdims)
    dim, c = _spread_arguments("std_mean", dim, unbiased, correction)
    return _std(input, dim, c, keepdim), mean_over(input, dim, keepdim)


def _middle(array: np.ndarray, ignore_nan: bool) -> Any:
    """The lower median of all elements; nan, or what PyTorch has for it, if there are none."""
    if not array.size:
        if array.dtype in dtypes.inexact:
            return array.dtype.type(math.nan)
        least = True if array.dtype.kind == "b" else np.iinfo(array.dtype).min
        return np.asarray(least, array.dtype)
    _check_ranked("median", array)
    flat = array.reshape(-1)
    return flat[kernels.selection.median_index(flat, 0, ignore_nan)].reshape(())


def _check_ranked(name: str, array: np.ndarray) -> None:
    if array.dtype.kind in "cb":
        raise NotImplementedError(
            f'"{name}" is not implemented for {dtypes.of_numpy[array.dtype].short!r}'
        )


def _of_all(b: Batch, out_dim: Any) -> Any:
    """A median of all elements, by its position in each sample."""
    if 0 in b.shape("input"):
        return one_by_one(b)  # there is no such position
    rows = as_rows(b, "input")
    return picked("median", rows, out_dim(rows, 1, False), 1, False).values


@primitive(
    input=lambda g, input, out: g * share_of_ties(input, out),
    batch=lambda b: _of_all(b, _median_place),
    label="MedianBackward0",
    name="median",
)
def _median_of_all(input: Value) -> Value:
    return _middle(input, False)


@primitive(
    input=lambda g, input, out: g * share_of_ties(input, out),
    batch=lambda b: _of_all(b, _nanmedian_place),
    label="NanmedianBackward0",
    name="nanmedian",
)
def _nanmedian_of_all(input: Value) -> Value:
    return _middle(input, True)


@primitive(input=None, batch=batch_along("dim"), name="median", layout="contiguous")
def _median_place(input: Value, dim: int, keepdim: bool) -> Value:
    return _place_of_median("median", input, dim, keepdim)


@primitive(input=None, batch=batch_along("dim"), name="nanmedian", layout="contiguous")
def _nanmedian_place(input: Value, dim: int, keepdim: bool) -> Value:
    return _place_of_median("nanmedian", input, dim, keepdim)


def _place_of_median(name: str, input: np.ndarray, dim: int, keepdim: bool) -> np.ndarray:
    axis = axis_of(dim, input.ndim)
    kernels.selection.check_not_empty(input, axis, name)
    _check_ranked("median", input)
    if not input.size:
        indices = np.zeros(kept_shape(input.shape, axis), np.int64)
    else:
        indices = kernels.selection.median_index(input, axis, name == "nanmedian")
    return kernels.selection.drop_axis(indices, axis, keepdim)


def median(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor | ValuesIndices:
    """The median (the lower of two), nan if there is a nan; along `dim` with its index.

    >>> import wengert
    >>> wengert.median(wengert.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("median", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(median, out, input, dim, keepdim)
    if dim is None:
        return _median_of_all(input)
    return picked("median", input, _median_place(input, dim, keepdim), dim, keepdim)


def nanmedian(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor | ValuesIndices:
    """The median, ignoring nan; along `dim` with its index.

    >>> import wengert
    >>> wengert.nanmedian(wengert.tensor([4.0, float("nan"), 3.0]))
    tensor(3.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("nanmedian", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(nanmedian, out, input, dim, keepdim)
    if dim is None:
        return _nanmedian_of_all(input)
    return picked("nanmedian", input, _nanmedian_place(input, dim, keepdim), dim, keepdim)


@primitive(input=None, batch=batch_along("dim"), name="mode", layout="contiguous")
def _mode_place(input: Value, dim: int, keepdim: bool) -> Value:
    axis = axis_of(dim, input.ndim)
    kernels.selection.check_not_empty(input, axis, "mode")
    return kernels.selection.drop_axis(kernels.selection.mode_index(input, axis), axis, keepdim)


def mode(
    input: Tensor,
    dim: int = -1,
    keepdim: bool = False,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> ValuesIndices:
    """The most frequent value along `dim` (the smallest of several) and its last index.

    >>> import wengert
    >>> wengert.mode(wengert.tensor([2, 1, 1, 3])).values
    tensor(1)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("mode", dim, axis, keepdim, keepdims, -1)
    if out is not None:
        return write_out(mode, out, input, dim, keepdim)
    return picked("mode", input, _mode_place(input, dim, keepdim), dim, keepdim)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The q-quantiles along `dim`, or of everything; nan if there is a nan.

    For a 1-D `q` its length is the first dimension of the result.

    >>> import wengert
    >>> wengert.quantile(wengert.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
    tensor(1.5000)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("quantile", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(quantile, out, input, q, dim, keepdim, interpolation=interpolation)
    require_tensor("quantile", "input", input)
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The q-quantiles, ignoring nan.

    >>> import wengert
    >>> wengert.nanquantile(wengert.tensor([0.0, float("nan"), 2.0]), 0.5)
    tensor(1.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("nanquantile", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(nanquantile, out, input, q, dim, keepdim, interpolation=interpolation)
    require_tensor("nanquantile", "input", input)
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    levels = _checked_levels(name, input, q, interpolation)
    shape = input._outline.shape
    axis = 0 if dim is None else axis_of(dim, len(shape))
    kept_dims = kept_shape(shape, dim)
    x = input.reshape((-1,)) if dim is None or not shape else input
    column = (-1, *(1,) * (x.ndim - axis - 1))
    rank = _ranks(x, levels.reshape(column), axis, name == "nanquantile", interpolation)
    low, high = (rank.ceil() if interpolation == "higher" else rank.floor()), rank.ceil()
    order = argsort(x, axis)
    # Along the axis: one element for each level.
    below, above = (
        take_along(x, take_along(order, position.long(), axis, False), axis, False)
        for position in (low, high)
    )
    if interpolation == "linear":
        out = lerp(below, above, rank - low)
    else:
        out = lerp(below, above, 0.5) if interpolation == "midpoint" else below
    if dim is not None and len(shape) > 1:
        # The levels are adjacent in memory, as in PyTorch.
        out = contiguous(out.movedim(axis, -1)).movedim(-1, 0)
    out_shape = (
        kept_dims if keepdim else () if dim is None else kept_dims[:axis] + kept_dims[axis + 1 :]
    )
    return out.reshape((*levels.shape, *out_shape))


def _checked_levels(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    array = input._array
    if array.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, not"
                           f" {dtypes.of_numpy[array.dtype]}")  # fmt: skip
    if not array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest,"
            f" but got {interpolation}"
        )
    levels = q if isinstance(q, Tensor) else wrap(np.asarray(q, array.dtype))
    if levels.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, not {levels.ndim}D")
    if levels._outline.dtype != array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    values = memory_of(levels)
    if not ((values >= 0) & (values <= 1)).all():
        what = "q values" if isinstance(q, Tensor) else "q"
        raise RuntimeError(f"{name}() {what} must be in the range [0, 1] but got {q}")
    return levels


def _ranks(x: Tensor, levels: Tensor, axis: int, ignore_nan: bool, interpolation: str) -> Tensor:
    """The rank of each level among the elements along the axis, with nan as the largest."""
    n = x.shape[axis]
    missing = isnan(x)
    if ignore_nan:
        last = (n - 1 - missing.sum(axis, keepdim=True)).clamp_min(0)
        rank = levels * last.to(x.dtype)
    else:  # a nan is the result, and is sorted last
        rank = where(missing.any(axis, keepdim=True), float(n - 1), levels * (n - 1))
    if interpolation == "nearest":
        rank = rank.round()
    lengths = [*x.shape]
    lengths[axis] = levels.shape[0]
    spread: Tensor = rank.expand(lengths)
    return spread


def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of the rows of a matrix, whose columns are observations.

    Observations may be repeated (`fweights`, integers) and weighted (`aweights`).

    >>> import wengert
    >>> wengert.cov(wengert.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    require_tensor("cov", "input", input)
    if input._outline.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with"
            f" {input._outline.ndim} dimensions"
        )
    x = input.reshape((1, -1)) if input._outline.ndim < 2 else input
    if x._outline.dtype not in dtypes.inexact:
        x = x.to(dtypes.defaults.dtype)
    weights = _observation_weights(x._outline.shape[1], fweights, aweights)
    if weights is None:
        count: Any = x._outline.shape[1]
        centred = x - x.mean(1, True)
        scaled, degrees = centred, count - correction
    else:
        count = weights.sum()
        centred = x - (x * weights).sum(1, True) / count
        scaled = centred * weights
        degrees = count - correction
        if aweights is not None and correction:
            degrees = count - correction * (weights * aweights).sum() / count
    return ((scaled @ centred.mT.conj()) / _at_least_none(degrees)).squeeze()


def _at_least_none(degrees: Any) -> Any:
    """The degrees of freedom, a number or a tensor, clamped to 0 with a warning."""
    values = memory_of(degrees) if isinstance(degrees, Tensor) else np.asarray(degrees)
    bare = isinstance(degrees, Tensor) and degrees._memoryless
    if not (bare or (values > 0).all()):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than"
                      " the number of observations.")  # fmt: skip
    return degrees.clamp_min(0) if isinstance(degrees, Tensor) else max(degrees, 0)


def _observation_weights(n: int, *weight_tensors: Tensor | None) -> Tensor | None:
    product = None
    for name, weights in zip(("fweights", "aweights"), weight_tensors, strict=True):
        if weights is None:
            continue
        values = memory_of(weights)
        if name == "fweights" and values.dtype.kind not in "iu":
            raise RuntimeError(
                "cov(): expected fweights to have integral dtype but got fweights with"
                f" {dtypes.of_numpy[values.dtype].short} dtype"
            )
        if values.size and values.min() < 0:
            raise RuntimeError(f"cov(): {name} cannot be negative, but the least is {values.min()}")
        if weights._outline.shape != (n,):
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the"
                f" input but got {weights._outline.size} != {n}"
            )
        product = weights if product is None else product * weights
    return product


def corrcoef(input: Tensor) -> Tensor:
    """Correlation coefficients of the rows of a matrix, within [-1, 1].

    >>> import wengert
    >>> wengert.corrcoef(wengert.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    require_tensor("corrcoef", "input", input)
    if input._outline.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with"
            f" {input._outline.ndim} dimensions"
        )
    c = cov(input)
    if c._outline.ndim == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if not c.is_complex():
        return c.clamp(-1, 1)
    return complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))


__all__ = [
    "corrcoef", "cov", "median", "mode", "nanmedian", "nanquantile", "quantile", "std",
    "std_mean", "var", "var_mean",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(n for n in __all__ if n not in ("std_mean", "var_mean"))
INPLACE: tuple[str, ...] = ()
