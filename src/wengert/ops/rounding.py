"""Rounding and signs: piecewise constant or piecewise linear."""

from __future__ import annotations

import numpy as np

from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor
from wengert.kernels import layout
from wengert.kernels.precision import in_float32
from wengert.ops.checks import not_implemented, require_kind
from wengert.ops.complexes import conj, real
from wengert.ops.declare import Value, elementwise
from wengert.ops.outputs import write_out
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop, no_slope


def _require_real_number(name: str, array: np.ndarray) -> None:
    if array.dtype.kind == "c":
        raise NotImplementedError(f"{name} is not supported for complex inputs")
    if array.dtype.kind == "b":
        raise not_implemented(name, array)


@elementwise(input=lambda g: no_slope(g))
def floor(input: Value) -> Value:
    """The largest integer not above each element, in the same dtype.

    >>> import wengert
    >>> wengert.floor(wengert.tensor([1.7, -1.2]))
    tensor([ 1., -2.])
    """
    _require_real_number("floor", input)
    return np.floor(input)


@elementwise(input=lambda g: no_slope(g))
def ceil(input: Value) -> Value:
    """The smallest integer not below each element, in the same dtype.

    >>> import wengert
    >>> wengert.ceil(wengert.tensor([1.2, -1.7]))
    tensor([ 2., -1.])
    """
    _require_real_number("ceil", input)
    return np.ceil(input)


@elementwise(input=lambda g: no_slope(g))
def trunc(input: Value) -> Value:
    """Each element without its fractional part.

    >>> import wengert
    >>> wengert.trunc(wengert.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
    """
    _require_real_number("trunc", input)
    return np.trunc(input)


fix = trunc


@elementwise(input=lambda g: g)
def frac(input: Value) -> Value:
    """The fractional part of each element, with its sign.

    >>> import wengert
    >>> wengert.frac(wengert.tensor([1.5, -1.5]))
    tensor([ 0.5000, -0.5000])
    """
    require_kind("frac", input, "f")
    return input - np.trunc(input)


@in_float32
def _round_to(input: np.ndarray, decimals: int) -> np.ndarray:
    ten = input.dtype.type(10.0 ** abs(decimals))
    return np.rint(input * ten) / ten if decimals > 0 else np.rint(input / ten) * ten


@elementwise(input=lambda g: no_slope(g), layout=("input",))
def round(input: Value, *, decimals: int = 0) -> Value:
    """The nearest integer, or multiple of ``10 ** -decimals``; halves go to the even neighbour.

    >>> import wengert
    >>> wengert.round(wengert.tensor([0.5, 1.5, 2.7]))
    tensor([0., 2., 3.])
    """
    _require_real_number("round", input)
    if decimals == 0:
        return np.rint(input) if input.dtype.kind not in "iu" else input.copy()
    require_kind("round", input, "f")
    return _round_to(input, decimals)


@elementwise(
    input=lambda g: no_slope(g),
    scalar=lambda input: np.where(input > 0, 1.0, np.where(input < 0, -1.0, input.dtype.type(0))),
)
def sign(input: Value) -> Value:
    """-1, 0 or 1 by the sign of each element; 0 for NaN.

    >>> import wengert
    >>> wengert.sign(wengert.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    kind = input.dtype.kind
    if kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use"
            " torch.sgn instead."
        )
    if kind == "b":
        return input.copy()
    out = np.asarray(np.sign(input))
    if kind not in "iu":
        out[np.isnan(out)] = 0
    return out


@elementwise(
    input=lambda g, input, out: _across(g, input, out),
    label="SgnBackward0",
    name="sgn",
)
def _complex_sgn(input: Value) -> Value:
    size = np.asarray(np.abs(input))
    size[size == 0] = 1
    out = layout.empty_like(input)
    np.divide(input.real, size, out=out.real)  # part by part: infinity over infinity is nan there
    np.divide(input.imag, size, out=out.imag)
    return out


def _across(g: Value, z: Value, sgn: Value) -> Value:
    """The component of `g` orthogonal to z, over |z|: z / |z| does not change along z."""
    along = real(conj(sgn) * g) * sgn
    return drop((g - along) / abs(z), z == 0)


def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sign`, and for complex elements z / abs(z), 0 at 0.

    >>> import wengert
    >>> wengert.sgn(wengert.tensor([3 + 4j]))
    tensor([0.6000+0.8000j])
    """
    if out is not None:
        return write_out(sgn, out, input)
    require_tensor("sgn", "input", input)
    dtype = numpy_dtype(input) if isinstance(input, Tensor) else input.dtype
    return _complex_sgn(input) if dtype.kind == "c" else sign(input)


@elementwise(
    floats=True,
    input=lambda g, input, out: g * sign(input) * sign(out),
    other=lambda g: no_slope(g),
    tensors=("input",),
)
def copysign(input: Value, other: Value) -> Value:
    """The magnitude of `input` with the sign of `other`; signed zeros count.

    >>> import wengert
    >>> wengert.copysign(wengert.tensor([1.0, -2.0]), wengert.tensor([-1.0, 1.0]))
    tensor([-1.,  2.])
    """
    require_kind("copysign_cpu", input, "f")
    return np.copysign(input, other)


@elementwise(input=lambda g: no_slope(g), values=lambda g: no_slope(g), tensors=("input", "values"))
def _heaviside(input: Value, values: Value) -> Value:
    out = np.where(input == 0, values, (input > 0).astype(input.dtype))
    return np.where(np.isnan(input), input.dtype.type(0), out) if input.dtype.kind == "f" else out


def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The step function: 0 left of zero, 1 right of it, and `values` at zero.

    >>> import wengert
    >>> wengert.heaviside(wengert.tensor([-1.0, 0.0, 2.0]), wengert.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if out is not None:
        return write_out(heaviside, out, input, values)
    if isinstance(values, Tensor) and isinstance(input, Tensor):
        if input._outline.dtype != values._outline.dtype:
            raise RuntimeError(
                "heaviside is not yet implemented for tensors with different dtypes."
            )
        if input._outline.dtype.kind == "c":
            raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    return _heaviside(input, values)


__all__ = [
    "ceil", "copysign", "fix", "floor", "frac", "heaviside", "round", "sgn", "sign", "trunc",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "ceil", "copysign", "fix", "floor", "frac", "heaviside", "round", "sgn", "sign", "trunc",
)  # fmt: skip
INPLACE = METHODS
