"""Special functions: the error function and its relatives, and the gamma family."""

from __future__ import annotations

import math

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.kernels.precision import in_float64
from wengert.ops.checks import require_int, require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.exponential import exp
from wengert.ops.outputs import write_out

_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


@elementwise(
    floats=True,
    input=lambda g, input: g * exp(-(input * input)) * _TWO_OVER_ROOT_PI,
    scalar=lambda input: input.call("erf", 0.5),
    layout=("input",),
)
def erf(input: Value) -> Value:
    """The error function of each element.

    >>> import wengert
    >>> wengert.erf(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    require_kind("erf_vml_cpu", input, "f")
    return kernels.special.erf(input)


@elementwise(
    floats=True,
    input=lambda g, input: g * exp(-(input * input)) * -_TWO_OVER_ROOT_PI,
    scalar=lambda input: input.call("erfc", 1.5),
    layout=("input",),
)
def erfc(input: Value) -> Value:
    """``1 - erf(x)``, accurate for large x.

    >>> import wengert
    >>> wengert.erfc(wengert.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
    require_kind("erfc_vml_cpu", input, "f")
    return kernels.special.erfc(input)


@elementwise(
    floats=True,
    input=lambda g, out: g * exp(out * out) / _TWO_OVER_ROOT_PI,
    layout=("input",),
    scalar=lambda input: input.call("erfinv", 3.0),
)
def erfinv(input: Value) -> Value:
    """The inverse of `erf`: infinite at -1 and 1, NaN beyond.

    >>> import wengert
    >>> wengert.erfinv(wengert.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
    require_kind("erfinv", input, "f")
    return kernels.special.erfinv(input)


@elementwise(
    floats=True,
    input=lambda g, input: g * digamma(input),
    layout=("input",),
    scalar=lambda input: input.call("lgamma", 6.0),
)
def lgamma(input: Value) -> Value:
    """The logarithm of the absolute value of the gamma function.

    >>> import wengert
    >>> wengert.lgamma(wengert.tensor([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """
    require_kind("lgamma", input, "f")
    return kernels.special.lgamma(input)


@elementwise(
    floats=True,
    input=lambda g, input: g * _polygamma(input, 1),
    layout=("input",),
    scalar=lambda input: input.call("digamma", 5.0),
)
def digamma(input: Value) -> Value:
    """The derivative of `lgamma`.

    >>> import wengert
    >>> wengert.digamma(wengert.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
    require_kind("digamma", input, "f")
    return kernels.special.digamma(input)


def _scalar_polygamma(input: Value, n: int) -> Value:
    if n > 2:
        raise NotImplementedError(f"no kernel has the polygamma function of order {n}")
    return input.call("trigamma" if n == 1 else "tetragamma", 5.0)


@elementwise(
    floats=True,
    input=lambda g, input, n: g * _polygamma(input, n + 1),
    label="PolygammaBackward0",
    layout=("input",),
    scalar=_scalar_polygamma,
)
def _polygamma(input: Value, n: int) -> Value:
    require_kind("polygamma", input, "f")
    return in_float64(lambda x: kernels.special.polygamma64(n, x))(input)


def polygamma(n: int, input: Value, *, out: Tensor | None = None) -> Value:
    """The n-th derivative of `digamma`.

    >>> import wengert
    >>> wengert.polygamma(1, wengert.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if out is not None:
        return write_out(polygamma, out, n, input)
    require_int("polygamma", "n", n, 1)
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n; got n={n}")
    return digamma(input) if n == 0 else _polygamma(input, n)


__all__ = ["digamma", "erf", "erfc", "erfinv", "lgamma", "polygamma"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("digamma", "erf", "erfc", "erfinv", "lgamma")
INPLACE = METHODS
