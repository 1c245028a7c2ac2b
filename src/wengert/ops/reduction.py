"""Reductions: sums, means, products, norms, all and any.

Rules bring reduced values back to a shape that broadcasts against the input
(`unreduced`), or to the input's full shape (`expand_back`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import dtype as DType
from wengert.core.dtypes import promote_types
from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor
from wengert.kernels import reduction as kernel
from wengert.kernels.axes import Dims, axes_of, count_of, kept_shape
from wengert.kernels.jit import LARGE
from wengert.kernels.shapes import unbroadcast
from wengert.ops._reducing import batch_over, dims_of_batch, over_one, whole_shape
from wengert.ops.batching import Batch
from wengert.ops.casting import convert
from wengert.ops.checks import not_implemented
from wengert.ops.complexes import conj, real
from wengert.ops.declare import Value, elementwise, multilinear, primitive
from wengert.ops.numpy_names import either_dims
from wengert.ops.operands import recorded_ops
from wengert.ops.outputs import write_out
from wengert.ops.rounding import sign
from wengert.ops.scan import exclusive_prod, has_zeros
from wengert.ops.shape import reshape
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import keep, ones_matching


@multilinear(
    input=lambda g, input_shape: expand_to(g, input_shape),
    batch=whole_shape,
    name="sum",
    layout="contiguous",
)
def sum_to_shape(input: Value, shape: tuple[int, ...]) -> Value:
    """The sum down to a shape that broadcasts to the input's."""
    return unbroadcast(input, shape)


recorded_ops.sum_to_shape = sum_to_shape


@multilinear(
    input=lambda g, input_shape: sum_to_shape(g, input_shape), batch=whole_shape, name="expand"
)
def expand_to(input: Value, shape: tuple[int, ...]) -> Value:
    """The input broadcast to a shape."""
    return kernel.broadcast(input, shape)


def _expanded_back(b: Batch) -> Any:
    shape = tuple(b.params["shape"])
    if not shape:
        return reshape(b.values["input"], (b.size,))
    return b(shape=(b.size, *shape), dim=dims_of_batch(b.params["dim"], len(shape)))


@multilinear(
    input=lambda g, dim, keepdim: sum_over(g, dim, keepdim),
    batch=_expanded_back,
    name="sum_backward",
)
def expand_back(input: Value, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Value:
    """The adjoint of a sum over `dim`: the cotangent, repeated over `shape`."""
    if axes_of(dim, len(shape)) is None:
        return kernel.broadcast(np.asarray(input).reshape(()), shape)
    return kernel.broadcast(np.reshape(input, kept_shape(shape, dim)), shape)


@multilinear(
    input=lambda g, input_shape, dim, keepdim: expand_back(g, input_shape, dim, keepdim),
    batch=batch_over,
    label="SumBackward0",
    name="sum",
    layout="contiguous",
)
def sum_over(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """`sum` in the input's own dtype."""
    return kernel.total(input, dim, keepdim)


def sum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sum over `dim`, or over everything; integers and booleans give int64.

    Half precision is accumulated in float32. `dtype` converts the input first, and is the result's.

    >>> import wengert
    >>> wengert.sum(wengert.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("sum", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(sum, out, input, dim, keepdim, dtype=dtype)
    if dtype is None:
        return sum_over(input, dim, keepdim)
    return convert(sum_over(convert(input, dtype, "sum"), dim, keepdim), dtype)


def unreduced(x: Value, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Value:
    """The result of a reduction over `dim`, shaped to broadcast against its input."""
    return x if keepdim else x.reshape(kept_shape(shape, dim))


@multilinear(
    input=lambda g, input_shape, dim, keepdim: expand_back(
        g / (count_of(input_shape, dim) or 1), input_shape, dim, keepdim
    ),
    batch=batch_over,
    label="MeanBackward0",
    name="mean",
    layout="contiguous",
)
def mean_over(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """`mean` in the input's own dtype."""
    _check_inexact("mean(): could not infer output dtype. Input dtype must be either a floating"
                   " point or complex dtype. Got:", input)  # fmt: skip
    return kernel.average(input, dim, keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Mean over `dim`, or over everything; nan for an empty tensor.

    Integers raise a RuntimeError unless `dtype` names a floating-point type.

    >>> import wengert
    >>> wengert.mean(wengert.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([1.5000, 3.5000])
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("mean", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(mean, out, input, dim, keepdim, dtype=dtype)
    return mean_over(input if dtype is None else convert(input, dtype, "mean"), dim, keepdim)


def _check_inexact(complaint: str, array: np.ndarray) -> None:
    if array.dtype not in dtypes.inexact:
        raise RuntimeError(f"{complaint} {dtypes.of_numpy[array.dtype].short}")


def pushed(gradient: Value, t: Value, out: Value, dim: Dims, keepdim: bool = False) -> Value:
    """The tangent of a reduction: `gradient` is its vjp of ones, `t` the input's tangent."""
    total = sum_over(conj(gradient) * t, dim, keepdim)
    return total if out.dtype.is_complex else real(total)


def _nansum_vjp(g: Value, input: Value, dim: Dims, keepdim: bool) -> Value:
    return keep(expand_back(g, tuple(input.shape), dim, keepdim), _known(input))


@primitive(
    input=_nansum_vjp, batch=batch_over, label="NansumBackward0", name="nansum", layout="contiguous"
)
def _nansum(input: Value, dim: Dims, keepdim: bool) -> Value:
    return kernel.total_of_known(input, dim, keepdim)


def nansum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sum over `dim`, treating nan as zero.

    >>> import wengert
    >>> wengert.nansum(wengert.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("nansum", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(nansum, out, input, dim, keepdim, dtype=dtype)
    require_tensor("nansum", "input", input)
    if input._outline.dtype not in dtypes.inexact:
        return sum(input, dim, keepdim, dtype=dtype)
    return _nansum(input if dtype is None else convert(input, dtype, "nansum"), dim, keepdim)


def nanmean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Mean over `dim`, ignoring nan.

    >>> import wengert
    >>> wengert.nanmean(wengert.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("nanmean", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(nanmean, out, input, dim, keepdim, dtype=dtype)
    require_tensor("nanmean", "input", input)
    _check_inexact("nanmean(): expected input to have floating point or complex dtype but got",
                   input._array)  # fmt: skip
    counted = convert(_known(input), dtype or input.dtype)
    return nansum(input, dim, keepdim, dtype=dtype) / sum_over(counted, dim, keepdim)


@elementwise(input=None, name="nanmean")
def _known(input: Value) -> Value:
    """A mask of the elements that are not nan."""
    return input == input


def _prod_vjp(g: Value, input: Value, out: Value, dim: int | None, keepdim: bool) -> Value:
    """Each factor's derivative is the product of the others; by division if that is safe."""
    shape = input.shape
    if not has_zeros(input):
        return unreduced(g * conj(out), shape, dim, keepdim) / conj(input)
    g = unreduced(g, shape, dim, keepdim)
    if dim is None:
        others = exclusive_prod(input.reshape((-1,)), 0).reshape(tuple(shape))
    else:
        others = exclusive_prod(input, dim)
    return g * conj(others)


@primitive(
    input=_prod_vjp,
    jvp=lambda t, input, out, dim, keepdim: pushed(
        _prod_vjp(ones_matching(out), input, out, dim, keepdim), t, out, dim, keepdim
    ),
    batch=over_one,
    label="ProdBackward0",
    layout="contiguous",
)
def _prod(input: Value, dim: int | None, keepdim: bool) -> Value:
    return kernel.product(input, dim, keepdim)


def prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Product over one dimension, or of everything; integers and booleans give int64.

    Its derivatives are exact even for zero factors.

    >>> import wengert
    >>> wengert.prod(wengert.tensor([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("prod", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(prod, out, input, dim, keepdim, dtype=dtype)
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    if dtype is None:
        return _prod(input, dim, keepdim)
    return convert(_prod(convert(input, dtype, "prod"), dim, keepdim), dtype)


@elementwise(input=lambda g, out: -g * out * out, name="norm_backward")
def inverse_or_zero(input: Value) -> Value:
    """1/x, and 0 instead of 1/0: a subgradient of a norm at the origin."""
    with np.errstate(divide="ignore"):
        return np.where(input == 0, input.dtype.type(0), input.dtype.type(1) / input)


@elementwise(input=None, extreme=None, name="norm_backward")
def _share(input: Value, extreme: Value) -> Value:
    return kernel.ties(input, extreme).astype(input.dtype)


def norm_vjp(g: Value, input: Value, out: Value, p: float, dim: Dims, keepdim: bool) -> Value:
    """The cotangent of a norm's input, given that of its output."""
    shape = input.shape
    g, out = unreduced(g, shape, dim, keepdim), unreduced(out, shape, dim, keepdim)
    if p == 2:
        return input * (g * inverse_or_zero(out))
    direction = sign(input)
    if p == 1:
        return g * direction
    size = abs(input)
    if math.isinf(p):
        share = _share(size, out)
        return g * direction * share / sum_over(share, dim, True)
    # |x|^(p-1) / out^(p-1); a zero element gives 0 for p > 1, and is set to 0 otherwise.
    if 0 < p < 1:
        return g * direction * _ratio_power(size, p - 1) * _ratio_power(out, 1 - p)
    return g * direction * _ratio_power(keep(size * inverse_or_zero(out), out != 0.0), p - 1)


@elementwise(
    base=lambda g, base, exponent: g * exponent * _ratio_power(base, exponent - 1),
    name="norm_backward",
)
def _ratio_power(base: Value, exponent: float) -> Value:
    """x ** exponent, and 0 where x is 0: that element's part in a norm is left alone."""
    with np.errstate(divide="ignore"):
        return np.where(base == 0, base.dtype.type(0), base**exponent)


@primitive(
    input=norm_vjp,
    jvp=lambda t, input, out, p, dim, keepdim: pushed(
        norm_vjp(ones_matching(out), input, out, p, dim, keepdim), t, out, dim, keepdim
    ),
    batch=batch_over,
    label="LinalgVectorNormBackward0",
    name="norm",
    layout="contiguous",
)
def vector_norm(input: Value, p: float = 2, dim: Dims = None, keepdim: bool = False) -> Value:
    """The p-norm of a real tensor (p=2: also of a complex one) over `dim`."""
    _check_inexact("linalg.vector_norm: Expected a floating point or complex tensor as input. Got",
                   input)  # fmt: skip
    if not input.size and (p < 0 or p == math.inf) and not count_of(input.shape, dim):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {p} norm on an empty dimension because the"
            f" operation does not have an identity; input has shape {list(input.shape)}"
        )
    return kernel.p_norm(input, p, dim, keepdim)


@primitive(
    input=lambda g, input_shape, dim, keepdim: expand_back(g * 0, input_shape, dim, keepdim),
    jvp=lambda t, out: out * 0,
    batch=batch_over,
    name="norm",
    layout="contiguous",
)
def _nonzero_norm(input: Value, dim: Dims, keepdim: bool) -> Value:
    return kernel.p_norm(input, 0, dim, keepdim)


def p_norm(
    input: Tensor, p: float, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    """The p-norm over `dim`, or over everything, of a tensor of any dtype that supports norms."""
    if dtype is not None:
        dtype, source = dtypes.of_argument("linalg.vector_norm", dtype), input.dtype
        if promote_types(source, dtype) is not dtype:
            raise RuntimeError(
                f"linalg.vector_norm: the dtype of the input ({source.short}) should be convertible"
                f" without narrowing to the specified dtype ({dtype.short})"
            )
        input = convert(input, dtype)
    if numpy_dtype(input).kind == "c" and p != 2:
        input = input.abs()
    if p == 0:
        return _nonzero_norm(input, dim, keepdim)
    return vector_norm(input, float(p), dim, keepdim)


def _truth(ufunc: Any, array: np.ndarray, dim: Dims, keepdim: bool) -> Any:
    # An empty tuple names no axis here, where it names all in other reductions.
    axes = () if dim in ((), []) else axes_of(dim, array.ndim)
    truths = array if array.dtype == np.bool_ else array.astype(bool)
    if axes is None and not keepdim and array.size < LARGE:  # of few, counting is quicker
        count = np.count_nonzero(truths)
        out = np.asarray(count > 0 if ufunc is np.logical_or else count == array.size)
    else:
        out = ufunc.reduce(truths, axis=axes, keepdims=keepdim)
    return out.astype(np.uint8) if array.dtype == np.uint8 else out


def _truth_in_batch(b: Batch) -> Any:
    return b() if b.params["dim"] in ((), []) else batch_over(b)


@primitive(input=None, batch=_truth_in_batch, layout="contiguous")
def all(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """Whether all elements over `dim` are non-zero: bool, or uint8 for uint8.

    >>> import wengert
    >>> wengert.all(wengert.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    return _truth(np.logical_and, input, dim, keepdim)


@primitive(input=None, batch=_truth_in_batch, layout="contiguous")
def any(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """Whether any element over `dim` is non-zero: bool, or uint8 for uint8.

    >>> import wengert
    >>> wengert.any(wengert.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    return _truth(np.logical_or, input, dim, keepdim)


@primitive(input=None, batch=batch_over, layout="contiguous")
def count_nonzero(input: Value, dim: Dims = None) -> Value:
    """The number of elements over `dim` that are not zero, in int64.

    >>> import wengert
    >>> wengert.count_nonzero(wengert.tensor([[0, 1], [2, 3]]), dim=0)
    tensor([1, 2])
    """
    axes = axes_of(dim, input.ndim)
    if axes is None:
        return np.asarray(np.count_nonzero(input.astype(bool)))
    return np.add.reduce(input.astype(bool), axis=axes, dtype=np.int64)


@primitive(input=None, batch=batch_over, name="hash_tensor", layout="contiguous")
def _xor(input: Value, dim: Dims, keepdim: bool) -> Value:
    if input.dtype.kind == "c" or (input.dtype.kind == "u" and input.dtype.itemsize > 1):
        raise not_implemented("xor_sum_cpu", input)
    axes = axes_of(dim, input.ndim)
    kernels.selection.check_reducible(input, axes, "hash_tensor")
    wide = input.astype(np.int64 if input.dtype.kind in "iub" else np.float64)
    xor: Any = np.bitwise_xor
    return np.asarray(xor.reduce(wide.view(np.uint64), axis=axes, keepdims=keepdim))


def hash_tensor(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, mode: int = 0, axis: Dims = None,
    keepdims: bool | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The exclusive or of the bits of all elements, as doubles or 64-bit integers: uint64.

    >>> import wengert
    >>> wengert.hash_tensor(wengert.tensor([[1, 2], [4, 6]]), 1)
    tensor([3, 2], dtype=torch.uint64)
    """
    dim, keepdim = either_dims("hash_tensor", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(hash_tensor, out, input, dim, keepdim=keepdim, mode=mode)
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}, expected 0")
    result: Tensor = _xor(input, dim, keepdim)
    return result


__all__ = ["all", "any", "count_nonzero", "hash_tensor", "mean", "nanmean", "nansum", "prod", "sum"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE: tuple[str, ...] = ()
