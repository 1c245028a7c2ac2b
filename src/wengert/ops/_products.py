"""The three matrix products that are each other's derivatives, and the checks of all products.

With N = A B, T = A Bᵀ and S = Aᵀ B, the derivatives of each in its factors are products
of the same three kinds, so none needs an explicit transpose. Each takes the shape of its
result, to which a broadcast batch is summed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.kernels.products import matmul as kernel
from wengert.kernels.products.blas import dot
from wengert.ops.batching import Batch, Rule
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear
from wengert.ops.einsum import contracted
from wengert.ops.shape import reshape

Shape = tuple[int, ...]


def in_batches(left: str, right: str) -> Rule:
    """The batching rule of a matrix product with named axes: "nk", "km".

    The product is summed to `shape`, if that is a parameter.
    """

    def rule(b: Batch) -> Any:
        x, y = b.op.inputs
        a, c = b.shape(x)[:-2], b.shape(y)[:-2]
        shape = b.params.get("shape")
        out = np.broadcast_shapes(a, c) if shape is None else shape[:-2]
        if _broadcasts(a, c, out):
            return _aligned_product(b, shape)
        la, lb = (*_leading(a), *left), (*_leading(c), *right)
        return contracted(b, la, lb, (*_leading(out), "n", "m"))

    return rule


def _leading(shape: Shape) -> range:
    """Labels of the leading dimensions, aligned on the right."""
    return range(-len(shape), 0)


def _broadcasts(a: Shape, b: Shape, out: Shape) -> bool:
    """Whether the leading dimensions need broadcasting: some are repeated or left over."""
    for d in range(1, max(len(a), len(b)) + 1):
        sizes = {s[-d] for s in (a, b) if len(s) >= d}
        if len(sizes) > 1:
            return True
        if len(out) >= d:
            if out[-d] not in sizes:
                return True
        elif len(a) < d or len(b) < d:
            return True
    return False


def _aligned_product(b: Batch, shape: Shape | None) -> Any:
    """The product with samples of one rank, so that their leading dimensions broadcast."""
    rank = max(b.rank(i) for i in b.op.inputs)
    aligned = {
        i: reshape(v, (b.size, *(1,) * (rank - b.rank(i)), *b.shape(i)))
        for i, v in b.values.items()
        if i in b.batched
    }
    if shape is None:
        return b(**aligned)
    out = b(**aligned, shape=(b.size, *(1,) * (rank - len(shape)), *shape))
    return reshape(out, (b.size, *shape))


def samples(b: Batch) -> list[Any]:
    """Stand-ins for one sample of each input, with its shape and dtype, for checks."""
    return [
        np.broadcast_to(np.zeros((), v._outline.dtype), b.shape(i)) if isinstance(v, Tensor) else v
        for i, v in b.values.items()
    ]


@multilinear(
    mixed=False,
    batch=in_batches("nk", "km"),
    input=lambda g, other, input_shape: times_transposed(g, conj(other), input_shape),
    other=lambda g, input, other_shape: transposed_times(conj(input), g, other_shape),
    label="MmBackward0",
    name="matmul",
)
def times(input: Value, other: Value, shape: Shape) -> Value:
    """input @ other, summed to `shape`."""
    return kernel.times(input, other, shape)


@multilinear(
    mixed=False,
    batch=in_batches("nk", "mk"),
    input=lambda g, other, input_shape: times(g, conj(other), input_shape),
    other=lambda g, input, other_shape: transposed_times(g, conj(input), other_shape),
    label="MmBackward0",
    name="matmul",
)
def times_transposed(input: Value, other: Value, shape: Shape) -> Value:
    """input @ other.mT, summed to `shape`. The conjugate in its rules is that of the factor."""
    return kernel.times_transposed(input, other, shape)


@multilinear(
    mixed=False,
    batch=in_batches("kn", "km"),
    input=lambda g, other, input_shape: times_transposed(conj(other), g, input_shape),
    other=lambda g, input, other_shape: times(conj(input), g, other_shape),
    label="MmBackward0",
    name="matmul",
)
def transposed_times(input: Value, other: Value, shape: Shape) -> Value:
    """input.mT @ other, summed to `shape`."""
    return kernel.transposed_times(input, other, shape)


# Two matrices of these dtypes need only `dot`: the usual case of a first derivative.
_PLAIN = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def left_vjp(g: Value, other: Value, shape: Shape) -> Value:
    """The cotangent of the left factor of a matrix product."""
    if type(g) is np.ndarray and g.ndim == 2 == other.ndim and g.dtype in _PLAIN:
        return dot(g, other.T)
    return times_transposed(g, conj(other), shape)


def add_right_gradient(total: np.ndarray, g: Value, input: Value, shape: Shape) -> bool:
    """Add what `right_vjp` returns to an array; False where that is no product of two matrices."""
    if not (type(g) is type(input) is np.ndarray and len(shape) == 2 <= min(g.ndim, input.ndim)):
        return False
    return kernel.add_product(
        total, input.reshape(-1, input.shape[-1]).T, g.reshape(-1, g.shape[-1])
    )


def right_vjp(g: Value, input: Value, shape: Shape) -> Value:
    """The cotangent of the right factor of a matrix product."""
    if type(g) is np.ndarray and g.ndim == 2 == input.ndim and g.dtype in _PLAIN:
        return dot(input.T, g)
    return transposed_times(conj(input), g, shape)


def check_tensors(name: str, **arguments: Any) -> None:
    """Raise TypeError for an argument that is not a tensor."""
    for position, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, np.ndarray):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not"
                f" {type(value).__name__}"
            )


def usual_product(a: Any, b: Any) -> Any:
    """The product of a matrix or vector and another that no check refuses; None of others."""
    if not type(a) is type(b) is np.ndarray or a.dtype is not b.dtype or a.dtype.char not in "fd":
        return None
    if not 1 <= a.ndim <= 2 or b.ndim not in (1, a.ndim) or a.shape[-1] != len(b):
        return None
    if b.ndim == 2:
        return dot(a, b)
    rows = a if a.ndim == 2 else a.reshape(1, -1)
    return dot(rows, b.reshape(-1, 1)).reshape(a.shape[:-1])


def with_vector(input: np.ndarray, other: np.ndarray) -> Any:
    """A product of which at least one side is 1-D."""
    a = input.reshape(1, -1) if input.ndim == 1 else input
    b = other.reshape(-1, 1) if other.ndim == 1 else other
    shape = (*input.shape[:-1], *(other.shape[:-2] if other.ndim > 1 else ()),
             *(other.shape[-1:] if other.ndim > 1 else ()))  # fmt: skip
    return kernel.product(a, b).reshape(shape)


def check_dtypes(a: np.ndarray, b: np.ndarray) -> None:
    """Raise unless two factors have the same dtype, one that supports products."""
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_c_name(a)} != {_c_name(b)}"
        )
    if a.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


_C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int",
    "int16": "short int", "uint8": "unsigned char", "int8": "signed char", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def _c_name(array: np.ndarray) -> str:
    name = of_numpy[array.dtype].name
    return _C_NAMES.get(name, name)


def check_matrices(a: np.ndarray, b: np.ndarray) -> None:
    """Raise unless the inner sizes of two matrices, or batches of them, agree."""
    if a.shape[-1] != b.shape[-2]:
        raise cannot_multiply(a.shape, b.shape)


def cannot_multiply(a: Shape, b: Shape) -> RuntimeError:
    """The exception for two matrices whose inner sizes differ."""
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")


def _by(shape: Shape) -> str:
    return "x".join(map(str, shape))


def check_expands(input: np.ndarray, shape: Shape) -> None:
    """Raise unless `input` broadcasts to the shape of the product it is added to."""
    lead = len(shape) - input.ndim
    for d, n in enumerate(input.shape, lead):
        if d < 0 or n not in (1, shape[d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[d] if d >= 0 else 1}) must match the"
                f" existing size ({n}) at non-singleton dimension {d}.  Target sizes:"
                f" {list(shape)}.  Tensor sizes: {list(input.shape)}"
            )
