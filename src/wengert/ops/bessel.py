"""Bessel functions. Their derivatives are those of the neighbouring orders."""

from __future__ import annotations

from wengert import kernels
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.rounding import sign


def _slope(input: Value, out: Value, kind: str, order: int) -> Value:
    above = bessel(input, kind, order + 1)
    below = above if order == 0 else bessel(input, kind, order - 1)
    if kind in ("j", "y"):
        # Those of order -1 are those of order 1, negated.
        return -above if order == 0 else (below - above) * 0.5
    mean = (below + above) * 0.5
    if kind == "i":
        return mean
    if kind == "ie":
        return mean - sign(input) * out
    return -mean if kind == "k" else out - mean


# The functions with a kernel, and its nanoseconds per element.
_SCALAR, _WORK = {("i", 0): "i0", ("i", 1): "i1", ("ie", 0): "i0e", ("ie", 1): "i1e"}, 4.0


def _scalar_bessel(input: Value, kind: str, order: int) -> Value:
    name = _SCALAR.get((kind, order))
    if name is None:
        raise NotImplementedError(f"no kernel has the Bessel function {kind}{order}")
    return input.call(name, _WORK)


@elementwise(
    floats=True,
    input=lambda g, input, out, kind, order: g * _slope(input, out, kind, order),
    label="BesselBackward0",
    name="i0",
    scalar=_scalar_bessel,
)
def bessel(input: Value, kind: str, order: int) -> Value:
    """The kinds are those of `kernels.bessel`."""
    require_kind(f"bessel_{kind}{order}", input, "f")
    return kernels.scipy_special.bessel(kind, order, input)


def i0(input: Value) -> Value:
    """The modified Bessel function of the first kind and order 0.

    >>> import wengert
    >>> wengert.i0(wengert.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return bessel(input, "i", 0)


__all__ = ["i0"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("i0",)
INPLACE = ("i0",)
