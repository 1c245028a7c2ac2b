"""Softmax, its logarithm, and logsumexp: one node each, which saves only its output."""

from __future__ import annotations

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import dtype as DType
from wengert.core.tensor import Tensor
from wengert.kernels.axes import Dims, axes_of, axis_of
from wengert.ops._reducing import batch_over
from wengert.ops.batching import batch_along
from wengert.ops.casting import convert
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, primitive
from wengert.ops.exponential import exp
from wengert.ops.numpy_names import MISSING, either, require_arguments
from wengert.ops.outputs import write_out
from wengert.ops.reduction import pushed, sum_over, unreduced
from wengert.ops.scan import sum_of
from wengert.ops.zeros import ones_matching

_REAL = frozenset(d for d in dtypes.inexact if d.kind != "c")


@primitive(
    input=lambda g, out, dim: _softmax_pullback(g, out, dim),
    jvp=lambda t, out, dim: _softmax_pullback(t, out, dim),  # its Jacobian is symmetric
    batch=batch_along("dim"),
    label="SoftmaxBackward0",
    layout="contiguous",
)
def _softmax(input: Value, dim: int) -> Value:
    _check_inexact("softmax", input)
    return kernels.softmax.softmax(input, axis_of(dim, input.ndim))


def _softmax_pullback_jvp(
    t_input: Value, t_output: Value, input: Value, output: Value, dim: int
) -> Value:
    from_input = None if t_input is None else _softmax_pullback(t_input, output, dim)
    if t_output is None:
        return from_input
    centred = input - sum_over(input * output, dim, True)
    return sum_of(from_input, t_output * centred - output * sum_over(input * t_output, dim, True))


def _softmax_pullback_output(h: Value, g: Value, output: Value, dim: int) -> Value:
    return h * (g - sum_over(g * output, dim, True)) - g * sum_over(h * output, dim, True)


@primitive(
    input=lambda g, output, dim: _softmax_pullback(g, output, dim),
    output=lambda g, input, output, dim: _softmax_pullback_output(g, input, output, dim),
    jvp=lambda t_input, t_output, input, output, dim: _softmax_pullback_jvp(
        t_input, t_output, input, output, dim
    ),
    batch=batch_along("dim"),
    name="softmax_backward",
)
def _softmax_pullback(input: Value, output: Value, dim: int) -> Value:
    return kernels.softmax.softmax_pullback(input, output, axis_of(dim, output.ndim))


@primitive(
    input=lambda g, out, dim: _log_softmax_pullback(g, out, dim),
    jvp=lambda t, out, dim: t - sum_over(t * exp(out), dim, True),
    batch=batch_along("dim"),
    label="LogSoftmaxBackward0",
    layout="contiguous",
)
def _log_softmax(input: Value, dim: int) -> Value:
    _check_inexact("log_softmax", input)
    return kernels.softmax.log_softmax(input, axis_of(dim, input.ndim))


def _log_softmax_pullback_jvp(
    t_input: Value, t_output: Value, input: Value, output: Value, dim: int
) -> Value:
    from_input = None if t_input is None else _log_softmax_pullback(t_input, output, dim)
    if t_output is None:
        return from_input
    return sum_of(from_input, -(exp(output) * t_output * sum_over(input, dim, True)))


@primitive(
    input=lambda g, output, dim: g - sum_over(g * exp(output), dim, True),
    output=lambda g, input, output, dim: -(g * exp(output) * sum_over(input, dim, True)),
    jvp=lambda t_input, t_output, input, output, dim: _log_softmax_pullback_jvp(
        t_input, t_output, input, output, dim
    ),
    batch=batch_along("dim"),
    name="log_softmax_backward",
)
def _log_softmax_pullback(input: Value, output: Value, dim: int) -> Value:
    return kernels.softmax.log_softmax_pullback(input, output, axis_of(dim, output.ndim))


def _check_inexact(name: str, array: np.ndarray) -> None:
    if array.dtype.char not in "fd" and array.dtype not in _REAL:
        raise NotImplementedError(
            f'"{name}" not implemented for {dtypes.of_numpy[array.dtype].short!r}; argument'
            " 'input' must be floating point, or 'dtype' be given"
        )


def softmax(
    input: Tensor,
    dim: int = MISSING,
    dtype: DType | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`; `dtype` converts the input first.

    >>> import wengert
    >>> wengert.softmax(wengert.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if axis is not None or dim is MISSING:
        dim = either("softmax", "dim", dim, axis, MISSING)
        require_arguments("softmax", dim=dim)
    if out is not None:
        return write_out(softmax, out, input, dim, dtype)
    if dim is None:
        raise _no_dim("softmax")
    return _softmax(input if dtype is None else convert(input, dtype, "softmax"), dim)


def log_softmax(
    input: Tensor,
    dim: int = MISSING,
    dtype: DType | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The logarithm of `softmax` along `dim`, finite where softmax would round to zero.

    >>> import wengert
    >>> wengert.log_softmax(wengert.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if axis is not None or dim is MISSING:
        dim = either("log_softmax", "dim", dim, axis, MISSING)
        require_arguments("log_softmax", dim=dim)
    if out is not None:
        return write_out(log_softmax, out, input, dim, dtype)
    if dim is None:
        raise _no_dim("log_softmax")
    return _log_softmax(input if dtype is None else convert(input, dtype, "log_softmax"), dim)


def _no_dim(name: str) -> TypeError:
    return TypeError(f"{name}(): argument 'dim' (position 2) must be int, not NoneType")


def _logsumexp_vjp(g: Value, input: Value, out: Value, dim: Dims, keepdim: bool) -> Value:
    shape = input.shape
    out = unreduced(out, shape, dim, keepdim)
    return unreduced(g, shape, dim, keepdim) * conj(exp(input - out))


@primitive(
    input=_logsumexp_vjp,
    jvp=lambda t, input, out, dim, keepdim: pushed(
        _logsumexp_vjp(ones_matching(out), input, out, dim, keepdim), t, out, dim, keepdim
    ),
    batch=batch_over,
    floats=True,
    layout="contiguous",
)
def logsumexp(input: Value, dim: Dims, keepdim: bool = False) -> Value:
    """Logarithm of the sum of exponentials over `dim`, computed without overflow.

    >>> import wengert
    >>> wengert.logsumexp(wengert.tensor([1000.0, 0.0]), dim=0)
    tensor(1000.)
    """
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be tuple of ints, not NoneType")
    return kernels.softmax.logsumexp(input, axes_of(dim, input.ndim), keepdim)


__all__ = ["log_softmax", "logsumexp", "softmax"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("log_softmax", "logsumexp", "softmax")
INPLACE: tuple[str, ...] = ()
