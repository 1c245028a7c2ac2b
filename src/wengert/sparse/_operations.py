"""What is recorded of operations on sparse tensors: operations on their values.

Places are constants, parameters of the operations. The families of derivatives are closed: what
is added at places is taken from them backwards, and the gradient of a product's values is a
product sampled at their places.
"""

from __future__ import annotations

import numpy as np

from wengert.kernels import sparse as kernels
from wengert.kernels.sparse import Pattern, Shape
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear


@multilinear(
    values=lambda g, coordinates: take_at(g, coordinates), label="ToDenseBackward0", name="to_dense"
)
def add_at(values: Value, coordinates: np.ndarray, shape: Shape) -> Value:
    """Zeros of a shape, with each value added at its place in the leading dimensions."""
    return kernels.add_at_places(values, coordinates, shape)


@multilinear(
    values=lambda g, group: take_at(g, group[None]), label="CoalesceBackward0", name="coalesce"
)
def add_groups(values: Value, group: np.ndarray, count: int) -> Value:
    """The sum of the values of each group."""
    return kernels.add_at_places(values, group[None], (count, *values.shape[1:]))


@multilinear(
    input=lambda g, coordinates, input_shape: add_at(g, coordinates, input_shape),
    label="SparseMaskBackward0",
    name="sparse_mask",
)
def take_at(input: Value, coordinates: np.ndarray) -> Value:
    """The elements (or slices) at places in the leading dimensions, one after another."""
    if not len(coordinates):
        return np.repeat(input[None], coordinates.shape[1], axis=0)
    return input[tuple(coordinates)]


@multilinear(
    input=lambda g: g,
    view=True,
    label="SparseCooTensorWithDimsAndTensorsBackward0",
    name="sparse_coo_tensor",
)
def stored_values(input: Value) -> Value:
    """The values of a sparse tensor that is made of them."""
    return input[...]


@multilinear(
    values=lambda g, dense, pattern: sampled_product(g, conj(dense), pattern),
    dense=lambda g, values, pattern: sparse_dense_product(conj(values), g, pattern.transposed()),
    mixed=False,
    label="SparseMmBackward0",
    name="sparse.mm",
)
def sparse_dense_product(values: Value, dense: Value, pattern: Pattern) -> Value:
    """The matrix with these values times a dense one."""
    return kernels.multiply(values, dense, pattern)


@multilinear(
    left=lambda g, right, pattern: sparse_dense_product(g, conj(right), pattern),
    right=lambda g, left, pattern: sparse_dense_product(g, conj(left), pattern.transposed()),
    mixed=False,
    label="SampledMmBackward0",
    name="sparse.sampled_addmm",
)
def sampled_product(left: Value, right: Value, pattern: Pattern) -> Value:
    """``left @ right.T`` at the places of a pattern."""
    return kernels.sample_product(left, right, pattern)


@multilinear(
    left=lambda g, right, first, second, places: product_at(
        g, conj(right), places, second.transposed(), first
    ),
    right=lambda g, left, first, second, places: product_at(
        conj(left), g, first.transposed(), places, second
    ),
    mixed=False,
    label="SparseSparseMmBackward0",
    name="sparse.mm",
)
def product_at(
    left: Value, right: Value, first: Pattern, second: Pattern, places: Pattern
) -> Value:
    """The product of two sparse matrices, at places where it may have values."""
    return kernels.multiply_at(left, right, first, second, places)
