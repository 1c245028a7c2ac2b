"""Scans: running sums, products, extrema, and differences.

A running product and a running logsumexp have one derivative, a first-order linear
recurrence along the dimension. It needs no division, so zeros are no special case, and
its own derivatives are recurrences again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.dtypes import dtype as DType
from wengert.core.layout import contiguous_format
from wengert.core.tensor import Tensor, memory_of
from wengert.kernels import scan as kernel
from wengert.kernels.axes import axis_of, moved
from wengert.ops._picking import take_along
from wengert.ops.batching import Batch, batch_along
from wengert.ops.casting import convert
from wengert.ops.checks import varies
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, elementwise, multilinear, primitive
from wengert.ops.exponential import exp
from wengert.ops.joining import cat
from wengert.ops.numpy_names import MISSING, either, require_arguments
from wengert.ops.outputs import write_out
from wengert.ops.results import ValuesIndices, result_of
from wengert.ops.shape import clone
from wengert.ops.variadic import require_tensor


@multilinear(
    input=lambda g, dim, reverse: _cumsum(g, dim, not reverse),
    batch=batch_along("dim"),
    label="CumsumBackward0",
    layout="contiguous",
)
def _cumsum(input: Value, dim: int, reverse: bool = False) -> Value:
    return kernel.running(np.add, input, dim, reverse)


def cumsum(
    input: Tensor,
    dim: int = MISSING,
    *,
    dtype: DType | None = None,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Running sum along `dim`; integers and booleans give int64.

    >>> import wengert
    >>> wengert.cumsum(wengert.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 3., 6.])
    """
    if axis is not None or dim is MISSING:
        dim = either("cumsum", "dim", dim, axis, MISSING)
        require_arguments("cumsum", dim=dim)
    if out is not None:
        return write_out(cumsum, out, input, dim, dtype=dtype)
    require_tensor("cumsum", "input", input)
    if dtype is None:
        return _cumsum(input, dim)
    return convert(_cumsum(convert(input, dtype), dim), dtype)


@primitive(
    input=lambda g, dim, by: _shifted(g, dim, -by, 0.0),
    jvp=lambda t, dim, by: _shifted(t, dim, by, 0.0),
    batch=batch_along("dim"),
    name="cumsum_backward",
)
def _shifted(input: Value, dim: int, by: int, fill: float) -> Value:
    return kernel.shifted(input, axis_of(dim, input.ndim), by, fill)


@primitive(
    add=lambda g, factor, dim, reverse: _carried(g, factor, dim, reverse),
    factor=lambda g, factor, out, dim, reverse: (
        _carried(g, factor, dim, reverse) * conj(_before(out, dim, reverse))
    ),
    jvp=lambda t_add, t_factor, factor, out, dim, reverse: _recurrence_jvp(
        t_add, t_factor, factor, out, dim, reverse
    ),
    batch=batch_along("dim"),
    name="cumprod_backward",
)
def _recurrence(add: Value, factor: Value, dim: int, reverse: bool) -> Value:
    """r[k] = add[k] + factor[k] * r[k-1], or r[k+1] if `reverse`."""
    return kernel.recurrence(add, factor, axis_of(dim, add.ndim), reverse)


def _recurrence_jvp(
    t_add: Value, t_factor: Value, factor: Value, out: Value, dim: int, reverse: bool
) -> Value:
    from_factor = None if t_factor is None else t_factor * _before(out, dim, reverse)
    return _recurrence(sum_of(t_add, from_factor), factor, dim, reverse)


def _before(x: Value, dim: int, reverse: bool, fill: float = 0.0) -> Value:
    """The value of a recurrence at the previous step, for each step."""
    return _shifted(x, dim, -1 if reverse else 1, fill)


def sum_of(a: Value, b: Value) -> Value:
    """The sum of two tangents, either of which may be None."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _carried(g: Value, factor: Value, dim: int, reverse: bool) -> Value:
    """The cotangent accumulated at each step of a recurrence from all later steps."""
    step = 1 if reverse else -1
    return _recurrence(g, conj(_shifted(factor, dim, step, 0.0)), dim, not reverse)


def _cumprod_vjp(g: Value, input: Value, out: Value, dim: int, reverse: bool) -> Value:
    if not has_zeros(input):
        return _cumsum(g * conj(out), dim, not reverse) / conj(input)
    return conj(_before(out, dim, reverse, 1.0)) * _carried(g, input, dim, reverse)


def has_zeros(x: Value) -> bool:
    """Whether any factor, in any sample of a batch, is zero, or may be when a program runs."""
    if isinstance(x, Tensor):
        return varies(x) or not memory_of(x).all()
    return not x.all()


@primitive(
    input=_cumprod_vjp,
    jvp=lambda t, input, out, dim, reverse: _recurrence(
        t * _before(out, dim, reverse, 1.0), input, dim, reverse
    ),
    batch=batch_along("dim"),
    label="CumprodBackward0",
    layout="contiguous",
)
def _cumprod(input: Value, dim: int, reverse: bool = False) -> Value:
    return kernel.running(np.multiply, input, dim, reverse)


def cumprod(
    input: Tensor,
    dim: int = MISSING,
    *,
    dtype: DType | None = None,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Running product along `dim`; integers and booleans give int64.

    >>> import wengert
    >>> wengert.cumprod(wengert.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
    if axis is not None or dim is MISSING:
        dim = either("cumprod", "dim", dim, axis, MISSING)
        require_arguments("cumprod", dim=dim)
    if out is not None:
        return write_out(cumprod, out, input, dim, dtype=dtype)
    if dtype is None:
        return _cumprod(input, dim)
    return convert(_cumprod(convert(input, dtype), dim), dtype)


def exclusive_prod(input: Value, dim: int) -> Value:
    """For each element the product of all others along `dim`."""
    before = _shifted(_cumprod(input, dim, False), dim, 1, 1.0)
    return before * _shifted(_cumprod(input, dim, True), dim, -1, 1.0)


@elementwise(input=lambda g: g, name="logcumsumexp_backward")
def _finite(input: Value) -> Value:
    """-inf replaced by the lowest number: a running sum of nothing has no derivative."""
    if input.dtype.kind == "c":
        lowest = _lowest(input.real.dtype)
        return np.where(input.real < lowest, input.dtype.type(lowest), input)
    return np.maximum(input, _lowest(input.dtype))


def _bounded(out: Value) -> Value:
    """Infinity replaced by the largest number: after it a running sum does not change."""
    return -_finite(-out)


def _lowest(dtype: np.dtype) -> Value:
    return dtype.type(-3.0e38 if dtype == dtypes.bfloat16.np else np.finfo(dtype).min)


def _logcumsumexp_vjp(g: Value, input: Value, out: Value, dim: int) -> Value:
    out = _finite(out)
    steps = _bounded(out)
    decay = exp(_finite(steps - _shifted(steps, dim, -1, np.inf)))  # nothing comes after the last
    return conj(exp(input - out)) * _recurrence(g, conj(decay), dim, True)


def _logcumsumexp_jvp(t: Value, input: Value, out: Value, dim: int) -> Value:
    out = _finite(out)
    steps = _bounded(out)
    growth = exp(_finite(_shifted(steps, dim, 1, -np.inf) - steps))
    return _recurrence(exp(input - out) * t, growth, dim, False)


@primitive(
    input=_logcumsumexp_vjp, jvp=_logcumsumexp_jvp, batch=batch_along("dim"), layout="contiguous"
)
def logcumsumexp(input: Value, dim: int) -> Value:
    """Logarithm of the running sum of exponentials along `dim`.

    >>> import wengert
    >>> wengert.logcumsumexp(wengert.tensor([0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931])
    """
    if input.dtype not in dtypes.inexact:
        raise NotImplementedError(
            f'"logcumsumexp" not implemented for {dtypes.of_numpy[input.dtype].short!r}'
        )
    return kernel.running_logsumexp(input, dim)


@primitive(input=None, batch=batch_along("dim"), name="cummax", layout="contiguous")
def _running_place_of_max(input: Value, dim: int) -> Value:
    return kernel.running_extreme_index(input, dim, True)


@primitive(input=None, batch=batch_along("dim"), name="cummin", layout="contiguous")
def _running_place_of_min(input: Value, dim: int) -> Value:
    return kernel.running_extreme_index(input, dim, False)


def cummax(
    input: Tensor,
    dim: int = MISSING,
    *,
    axis: int | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> ValuesIndices:
    """Running maximum along `dim`, and the index of its latest occurrence.

    >>> import wengert
    >>> wengert.cummax(wengert.tensor([1.0, 3.0, 2.0]), dim=0).indices
    tensor([0, 1, 1])
    """
    if axis is not None or dim is MISSING:
        dim = either("cummax", "dim", dim, axis, MISSING)
        require_arguments("cummax", dim=dim)
    if out is not None:
        return write_out(cummax, out, input, dim)
    indices = _running_place_of_max(input, dim)
    result: ValuesIndices = result_of("cummax", take_along(input, indices, dim, False), indices)
    return result


def cummin(
    input: Tensor,
    dim: int = MISSING,
    *,
    axis: int | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> ValuesIndices:
    """Running minimum along `dim`, and the index of its latest occurrence.

    >>> import wengert
    >>> wengert.cummin(wengert.tensor([3.0, 1.0, 2.0]), dim=0).values
    tensor([3., 1., 1.])
    """
    if axis is not None or dim is MISSING:
        dim = either("cummin", "dim", dim, axis, MISSING)
        require_arguments("cummin", dim=dim)
    if out is not None:
        return write_out(cummin, out, input, dim)
    indices = _running_place_of_min(input, dim)
    result: ValuesIndices = result_of("cummin", take_along(input, indices, dim, False), indices)
    return result


@multilinear(
    input=lambda g, input_shape, dim: _differences_adjoint(g, input_shape, dim),
    batch=batch_along("dim"),
    name="diff",
    layout=("input",),
)
def _differences(input: Value, dim: int) -> Value:
    return kernel.differences(input, axis_of(dim, input.ndim))


def _adjoint_in_batch(b: Batch) -> Any:
    shape = tuple(b.params["shape"])
    return b(shape=(b.size, *shape), dim=axis_of(b.params["dim"], len(shape)) + 1)


@multilinear(
    input=lambda g, dim: _differences(g, dim), batch=_adjoint_in_batch, name="diff_backward"
)
def _differences_adjoint(input: Value, shape: tuple[int, ...], dim: int) -> Value:
    out = np.zeros(shape, input.dtype)
    axis = axis_of(dim, len(shape))
    target, source = moved(out, axis, 0), moved(input, axis, 0)
    target[1:] = source
    target[:-1] -= source
    return out


def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The n-th difference along `dim`, of the input with `prepend` and `append` added at its ends.

    >>> import wengert
    >>> wengert.diff(wengert.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    if axis is not None:
        dim = either("diff", "dim", dim, axis, -1)
    if out is not None:
        return write_out(diff, out, input, n, dim, prepend, append)
    if not isinstance(input, Tensor):
        raise TypeError(
            f"diff(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if input._outline.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional, but got a 0-d one")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return input.clone()
    tensors = [t for t in (prepend, input, append) if t is not None]
    out = cat(tensors, dim) if len(tensors) > 1 else input
    axis = axis_of(dim, out._outline.ndim)
    for _ in range(min(n, out._outline.shape[axis])):
        out = _differences(out, axis)
    return out


def _check_trapezoids(name: str, y: Tensor, x: Tensor | None, dx: float | None) -> None:
    require_tensor(name, "y", y)
    if x is not None and dx is not None:
        raise TypeError(f"{name}(): takes either 'x' or 'dx', and got both")
    if y._outline.dtype == bool:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")


def _trapezoids(name: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor:
    """Twice the area of each trapezoid between neighbours along `dim`."""
    axis = axis_of(dim, y._outline.ndim)
    n = y._outline.shape[axis]
    steps = max(n - 1, 0)
    pairs = y.narrow(axis, 0, steps) + y.narrow(axis, n - steps, steps)
    if x is None:
        return pairs * (1.0 if dx is None else dx)
    if x._outline.ndim == 1:
        if x._outline.shape[0] != n:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point, but got"
                f" {x._outline.shape[0]} for {n}"
            )
        widths = diff(x).reshape((-1,) + (1,) * (y._outline.ndim - axis - 1))
        return widths * pairs
    return diff(x, dim=dim) * pairs


def trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: float | None = None,
    dim: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Integral along `dim` by the trapezoidal rule, at points `x` or with spacing `dx` (1).

    >>> import wengert
    >>> wengert.trapezoid(wengert.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    if axis is not None:
        dim = either("trapezoid", "dim", dim, axis, -1)
    _check_trapezoids("trapezoid", y, x, dx)
    if x is not None or not y._outline.shape[axis_of(dim, y._outline.ndim)]:
        return _trapezoids("trapezoid", y, x, dx, dim).sum(dim) / 2
    # All points count once, except the ends, which count half.
    ends = y.select(dim, 0) + y.select(dim, -1)
    return (y.sum(dim) - ends * 0.5) * (1.0 if dx is None else dx)


def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: float | None = None,
    dim: int = -1,
    axis: int | None = None,
) -> Tensor:
    """The integrals from the first point to each of the others, as `trapezoid`.

    >>> import wengert
    >>> wengert.cumulative_trapezoid(wengert.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    if axis is not None:
        dim = either("cumulative_trapezoid", "dim", dim, axis, -1)
    _check_trapezoids("cumulative_trapezoid", y, x, dx)
    return _trapezoids("cumulative_trapezoid", y, x, dx, dim).cumsum(dim) / 2


def trapz(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: float | None = None,
    dim: int = -1,
    axis: int | None = None,
) -> Tensor:
    """The old name of `trapezoid`."""
    if axis is not None:
        dim = either("trapz", "dim", dim, axis, -1)
    return trapezoid(y, x, dx=dx, dim=dim)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """N powers of each element of a vector, as rows; as many as elements by default.

    The highest power comes first, or with `increasing` last.

    >>> import wengert
    >>> wengert.vander(wengert.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    require_tensor("vander", "x", x)
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got {x.ndim} dimensions")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError(f"N must be non-negative, got {n}")
    column = x.unsqueeze(1)
    powers = cumprod(cat([column.new_ones((x.shape[0], 1)), column.expand(-1, n)], 1), 1)
    powers = powers.narrow(1, 0, n)
    return clone(powers, memory_format=contiguous_format) if increasing else powers.flip(1)


__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp",
    "trapezoid", "trapz", "vander",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp")
INPLACE = ("cumprod", "cumsum")
