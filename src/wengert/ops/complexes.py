"""Complex numbers: their parts, their conjugates, and making them from real tensors.

Derivatives follow PyTorch's convention: the gradient of a real loss with respect to
z = x + iy is dL/dx + i dL/dy, so that a rule multiplies by the conjugate of the derivative.
"""

from __future__ import annotations

import builtins
import math

import numpy as np

from wengert import kernels
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, memory_of
from wengert.ops.batching import leading
from wengert.ops.declare import Value, elementwise, multilinear
from wengert.ops.outputs import write_out
from wengert.ops.shape import contiguous, matrix_transpose, t
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop, no_slope

_COMPLEX: dict[np.dtype, np.dtype] = {
    np.dtype("float32"): np.dtype("complex64"),
    np.dtype("float64"): np.dtype("complex128"),
}
_PARTS = frozenset(_COMPLEX)


def _dtype(value: Value) -> np.dtype:
    return value._outline.dtype if isinstance(value, Tensor) else value.dtype


@elementwise(np.conjugate, input=lambda g: _conj(g), label="ConjBackward0")
def _conj(input: Value) -> Value:
    """`conj` of a complex input."""


def conj(input: Tensor) -> Tensor:
    """Complex conjugate of each element; a real tensor is returned as it is.

    >>> import wengert
    >>> wengert.conj(wengert.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    dtype = input._outline.dtype if isinstance(input, Tensor) else input.dtype
    return _conj(input) if dtype.kind == "c" else input


def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `conj`: conjugates are always computed eagerly here.

    >>> import wengert
    >>> wengert.conj_physical(wengert.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if out is not None:
        return write_out(conj_physical, out, input)
    return conj(input)


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugation is never lazy here.

    >>> import wengert
    >>> wengert.resolve_conj(wengert.tensor([1 + 2j]))
    tensor([1.+2.j])
    """
    return input


@multilinear(input=lambda g: _from_real(g), view=True, batch=leading)
def _real(input: Value) -> Value:
    return input.real


@multilinear(input=lambda g: _from_imag(g), view=True, batch=leading)
def _imag(input: Value) -> Value:
    return input.imag


@multilinear(input=lambda g: _real(g), batch=leading, name="real_backward")
def _from_real(input: Value) -> Value:
    return input.astype(_COMPLEX[input.dtype])


@multilinear(input=lambda g: _imag(g), batch=leading, name="imag_backward")
def _from_imag(input: Value) -> Value:
    return input * _COMPLEX[input.dtype].type(1j)


def real(input: Tensor) -> Tensor:
    """Real part of each element; a real tensor is returned as it is.

    The result is a view of `input`.

    >>> import wengert
    >>> wengert.real(wengert.tensor([1 + 2j]))
    tensor([1.])
    """
    require_tensor("real", "input", input)
    return _real(input) if _dtype(input).kind == "c" else input


def imag(input: Tensor) -> Tensor:
    """Imaginary part of each element of a complex tensor, as a view.

    >>> import wengert
    >>> wengert.imag(wengert.tensor([1 + 2j]))
    tensor([2.])
    """
    require_tensor("imag", "input", input)
    if _dtype(input).kind != "c":
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes; argument 'input' is"
            f" {of_numpy[_dtype(input)]}"
        )
    return _imag(input)


@elementwise(
    input=lambda g, input: drop(g * (input * 1j / _abs_squared(input)), input == 0),
    label="AngleBackward0",
)
def _angle(input: Value) -> Value:
    return np.arctan2(input.imag, input.real)


@elementwise(floats=True, input=lambda g: no_slope(g), label="AngleBackward0", name="angle")
def _angle_of_real(input: Value) -> Value:
    # NaN stays NaN, and -0.0 counts as positive.
    zero_or_nan = np.where(np.isnan(input), input, input.dtype.type(0))
    return np.where(input < 0, input.dtype.type(math.pi), zero_or_nan)


def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle of each element in the complex plane, in radians.

    >>> import wengert
    >>> wengert.angle(wengert.tensor([1.0, -1.0]))
    tensor([0.0000, 3.1416])
    """
    if out is not None:
        return write_out(angle, out, input)
    require_tensor("angle", "input", input)
    return contiguous(_angle(input)) if _dtype(input).kind == "c" else _angle_of_real(input)


def _abs_squared(z: Value) -> Value:
    x, y = _real(z), _imag(z)
    return x * x + y * y


@elementwise(
    real=lambda g: _real(g),
    imag=lambda g: _imag(g),
    label="ComplexBackward0",
)
def _complex(real: Value, imag: Value) -> Value:
    return kernels.complexes.joined(real, imag, _COMPLEX[real.dtype])


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex tensor of a real and an imaginary part, both float32 or both float64.

    >>> import wengert
    >>> wengert.complex(wengert.tensor([1.0]), wengert.tensor([2.0]))
    tensor([1.+2.j])
    """
    if out is not None:
        return write_out(complex, out, real, imag)
    check_parts("complex", real, imag)
    return _complex(real, imag)


def check_parts(name: str, first: Tensor, second: Tensor) -> None:
    """Raise unless two tensors can be the parts, or polar coordinates, of complex numbers."""
    for position, x in enumerate((first, second), 1):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): argument at position {position} must be Tensor, not {type(x).__name__}"
            )
    a, b = _dtype(first), _dtype(second)
    if a not in _PARTS or b not in _PARTS:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got"
            f" {of_numpy[a].short} and {of_numpy[b].short} in {name}() (complex numbers of"
            " halves do not exist here)"
        )
    if a != b:
        raise RuntimeError(
            f"Expected object of scalar type {of_numpy[a].short} but got scalar type"
            f" {of_numpy[b].short} for second argument in {name}()"
        )


@multilinear(
    input=lambda g: _join(g),
    view=True,
    batch=leading,
    label="ViewAsRealBackward0",
    name="view_as_real",
)
def _split(input: Value) -> Value:
    return input[..., None].view(input.real.dtype)


@multilinear(
    input=lambda g: _split(g),
    view=True,
    batch=leading,
    label="ViewAsComplexBackward0",
    name="view_as_complex",
)
def _join(input: Value) -> Value:
    if input.strides[-1] != input.itemsize:
        input = np.ascontiguousarray(input)  # a cotangent; views were checked
    return input.view(_COMPLEX[input.dtype])[..., 0]


def view_as_real(input: Tensor) -> Tensor:
    """The real and imaginary parts, along a new last dimension, as a view.

    >>> import wengert
    >>> wengert.view_as_real(wengert.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    require_tensor("view_as_real", "input", input)
    if _dtype(input).kind != "c":
        raise RuntimeError(
            "view_as_real is only supported for complex tensors; argument 'input' is"
            f" {of_numpy[_dtype(input)]}"
        )
    return _split(input)


def view_as_complex(input: Tensor) -> Tensor:
    """View a tensor whose last dimension holds both parts as complex.

    >>> import wengert
    >>> wengert.view_as_complex(wengert.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    require_tensor("view_as_complex", "input", input)
    array = memory_of(input)
    if array.dtype not in _PARTS:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a"
            f" tensor of scalar type: {of_numpy[array.dtype].short} (halves not here)"
        )
    if input.ndim == 0 or array.shape[-1] != 2:
        raise RuntimeError(
            f"Tensor must have a last dimension of size 2, but has shape {list(input.shape)}"
        )
    if array.strides[-1] != array.itemsize:
        raise RuntimeError(
            "Tensor must have a last dimension with stride 1, but its strides are"
            f" {[s // array.itemsize for s in array.strides]}"
        )
    if any(s % (2 * array.itemsize) for s in array.strides[:-1]):
        raise RuntimeError(
            "Tensor must have a stride divisible by 2 for all but last dimension, but its strides"
            f" are {[s // array.itemsize for s in array.strides]}"
        )
    return _join(input)


def is_complex(input: Tensor) -> builtins.bool:
    """Whether the dtype is complex.

    >>> import wengert
    >>> wengert.is_complex(wengert.tensor([1j]))
    True
    """
    return of_numpy[_checked(input, "is_complex")].is_complex


def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether the dtype is a real floating-point one.

    >>> import wengert
    >>> wengert.is_floating_point(wengert.tensor([1.0]))
    True
    """
    return of_numpy[_checked(input, "is_floating_point")].is_floating_point


def _checked(input: Tensor, name: str) -> np.dtype:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input._outline.dtype


def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix or of each matrix in a batch.

    >>> import wengert
    >>> wengert.adjoint(wengert.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    require_tensor("adjoint", "input", input)
    return _conjugate(matrix_transpose(input, "adjoint()"))


def _conjugate(input: Tensor) -> Tensor:
    return conj(input) if input._outline.dtype.kind == "c" else input


def hermitian(input: Tensor) -> Tensor:
    """`x.H`: the conjugate transpose of a matrix."""
    if input.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor."
            " For batches of matrices, consider using tensor.mH"
        )
    return _conjugate(t(input))


__all__ = [
    "adjoint",
    "angle",
    "complex",
    "conj",
    "conj_physical",
    "imag",
    "is_complex",
    "is_floating_point",
    "real",
    "resolve_conj",
    "view_as_complex",
    "view_as_real",
]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "adjoint", "angle", "conj", "conj_physical", "is_complex", "is_floating_point", "resolve_conj",
)  # fmt: skip
INPLACE = ("conj_physical",)
