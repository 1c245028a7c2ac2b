"""Elementwise operations: functions that keep zero, sums, products and quotients."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor, coo
from wengert.core.tensor import Tensor
from wengert.kernels.sparse import keys_of
from wengert.ops import arithmetic
from wengert.ops.arithmetic import mul
from wengert.ops.broadcasting import expand
from wengert.ops.casting import convert
from wengert.ops.joining import cat
from wengert.sparse._operations import add_at, take_at
from wengert.sparse._places import as_coo, block_size, coalesced, dense_of, in_layout, values_at
from wengert.sparse._table import computes

Operand = Any
_NUMBERS = (bool, int, float, complex)


@computes("neg", "_conj", "_cast", "_discrete")
def each_stored(op: Any, input: SparseTensor, **params: Any) -> SparseTensor:
    """A function that is linear: of every value by itself, wherever it stands."""
    return input.with_values(op((input._stored,), params))


@computes(
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "erf", "erfinv", "expm1", "floor", "frac",
    "trunc", "log1p", "deg2rad", "rad2deg", "_relu", "round", "sign", "_complex_sgn",
    "sin", "sinh", "sqrt", "tan",
    "tanh", "nan_to_num", "isnan", "isinf", "isposinf", "isneginf", "signbit", "_angle",
    "_angle_of_real", "_real",
)  # fmt: skip
def each_element(op: Any, input: SparseTensor, **params: Any) -> SparseTensor:
    """A function that keeps zero, of the elements."""
    summed = coalesced(input) if isinstance(input, CooTensor) else input
    return summed.with_values(op((summed._stored,), params))


@computes("_pow_number")
def power_of_elements(op: Any, input: SparseTensor, exponent: Any) -> Any:
    """A power of the elements; of exponent 0 or less, zero would not be kept."""
    if isinstance(exponent, complex) or exponent <= 0:
        return NotImplemented
    return each_element(op, input, exponent=exponent)


def _is_scalar(x: Operand) -> bool:
    return isinstance(x, _NUMBERS) or (
        isinstance(x, Tensor) and not isinstance(x, SparseTensor) and x.ndim == 0
    )


@computes("mul")
def multiplied(op: Any, input: Operand, other: Operand) -> Any:
    """A product, which has values where both factors have some."""
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        return _intersection(input, other)
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if _is_scalar(other):
        return input.with_values(mul(input._stored, other))
    if isinstance(other, Tensor):
        return _by_dense(input, other)
    return NotImplemented


def _by_dense(sparse: SparseTensor, dense: Tensor) -> Tensor:
    """Each value times the element of a dense tensor at its place."""
    plain = as_coo(sparse)
    try:
        shape = np.broadcast_shapes(plain._extent, tuple(dense.shape))
    except ValueError:
        shape = ()
    if shape != plain._extent:
        raise RuntimeError(
            f"mul(sparse, dense): the shape of the dense tensor, {list(dense.shape)}, does not"
            f" expand to that of the sparse one, {list(plain._extent)}"
        )
    factors = take_at(expand(dense, shape), plain._coordinates)
    product = plain.with_values(mul(plain._stored, factors))
    return _like(sparse, product)


def _like(source: SparseTensor, result: CooTensor) -> Tensor:
    """The result in the layout that an operand has."""
    if isinstance(source, CooTensor):
        return result
    return in_layout(result, source.layout, block_size(source))


def _check_same_shape(name: str, a: SparseTensor, b: SparseTensor) -> None:
    if a._extent != b._extent:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(a._extent)} !="
            f" {list(b._extent)}"
        )
    sparse_dims = [len(as_coo(x)._coordinates) for x in (a, b)]
    if sparse_dims[0] != sparse_dims[1]:
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same number of sparse dimensions, but"
            f" {sparse_dims[0]} != {sparse_dims[1]}"
        )


def _intersection(input: SparseTensor, other: SparseTensor) -> Tensor:
    _check_same_shape("mul operands have incompatible sizes", input, other)
    a, b = (coalesced(as_coo(x)) for x in (input, other))
    keys, others = (keys_of(x._coordinates, x._extent) for x in (a, b))
    _, first, second = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    values = mul(values_at(a._stored, first), values_at(b._stored, second))
    return _like(input, coo(a._coordinates[:, first], values, a._extent, coalesced=True))


@computes("_add")
def added(op: Any, input: Operand, other: Operand) -> Any:
    """A sum: sparse if both terms are, dense if the first is."""
    return _sum(op, input, other, negated=False)


@computes("_sub")
def subtracted(op: Any, input: Operand, other: Operand) -> Any:
    """A difference, as `added`."""
    return _sum(op, input, other, negated=True)


def _sum(op: Any, input: Operand, other: Operand, negated: bool) -> Any:
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        return add_sparse(input, other.with_values(-other._stored) if negated else other)
    if isinstance(input, SparseTensor):
        if isinstance(input, CompressedTensor) and isinstance(other, Tensor) and other.ndim:
            return op((dense_of(input), other), {})
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if isinstance(input, Tensor) and tuple(input.shape) != other._extent:
        raise RuntimeError(
            f"{op.public_name}: expected 'self' and 'other' to have same size, but self has size"
            f" {list(input.shape)} while other has size {list(other._extent)} (FYI: op2-sparse"
            " addition does not currently support broadcasting)"
        )
    return op((input, dense_of(other)), {})


def add_sparse(input: SparseTensor, other: SparseTensor) -> Tensor:
    """The sum of two sparse tensors, coalesced if both are."""
    _check_same_shape("add", input, other)
    a, b = as_coo(input), as_coo(other)
    common = dtypes.promote_types(a.dtype, b.dtype)
    values = [convert(x._stored, common) for x in (a, b)]
    places = np.concatenate([a._coordinates, b._coordinates], axis=1)
    total = coo(places, cat(values), a._extent)
    total._coalesced = False
    crowded = places.shape[1] > max(prod(a._extent), 1)  # sums of sums would grow without end
    if isinstance(input, CompressedTensor) or (a._coalesced and b._coalesced) or crowded:
        total = coalesced(total)
    return _like(input, total)


@computes("_div", "_div_floor", "_div_trunc")
def divided(op: Any, input: Operand, other: Operand) -> Any:
    """A quotient by a number."""
    if isinstance(input, SparseTensor) and _is_scalar(other):
        linear = op.name == "_div" or not isinstance(input, CooTensor)
        summed = input if linear else coalesced(input)  # type: ignore[arg-type]
        return summed.with_values(op((summed._stored, other), {}))
    if not isinstance(input, Tensor):
        return NotImplemented
    got = list(other.shape) if isinstance(other, Tensor) else type(other).__name__
    raise RuntimeError(
        "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape"
        f" {got} for divisor)"
    )


@computes("clone")
def cloned(op: Any, input: SparseTensor, memory_format: Any = None) -> SparseTensor:
    """A tensor with its own values, and indices."""
    return own_places(input.with_values(op((input._stored,), {})))


def own_places(copied: SparseTensor) -> SparseTensor:
    """The tensor, after its indices have been copied."""
    if isinstance(copied, CooTensor):
        copied._coordinates = copied._coordinates.copy()
    elif isinstance(copied, CompressedTensor):
        copied._bounds, copied._plain = copied._bounds.copy(), copied._plain.copy()
    return copied


def add_to_dense(dense: Tensor, sparse: SparseTensor) -> Tensor:
    """A dense tensor plus a sparse one."""
    plain = as_coo(sparse)
    total: Tensor = arithmetic.add(dense, add_at(plain._stored, plain._coordinates, plain._extent))
    return total
