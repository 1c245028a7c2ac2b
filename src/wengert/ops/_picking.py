"""Picking elements by their index along a dimension, and the adjoints."""

from __future__ import annotations

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.kernels.axes import axis_of
from wengert.ops._reducing import at_places
from wengert.ops.declare import Value, multilinear
from wengert.ops.results import ValuesIndices, result_of


@multilinear(
    mixed=False,
    input=lambda g, input_shape, indices, dim, unique: add_along(
        g, indices, input_shape, dim, unique
    ),
    indices=None,
    batch=at_places,
    label="GatherBackward0",
    name="gather",
    layout=("indices",),
)
def take_along(input: Value, indices: Value, dim: int, unique: bool) -> Value:
    """The elements at `indices` along `dim`; `unique` promises that no index occurs twice."""
    return kernels.selection.take_along(input, indices, axis_of(dim, input.ndim))


@multilinear(
    mixed=False,
    input=lambda g, indices, dim, unique: take_along(g, indices, dim, unique),
    indices=None,
    batch=at_places,
    name="gather_backward",
)
def add_along(
    input: Value, indices: Value, shape: tuple[int, ...], dim: int, unique: bool
) -> Value:
    """The adjoint of `take_along`: zeros with the input added at `indices`."""
    axis = axis_of(dim, len(shape))
    return kernels.selection.add_along(np.asarray(input), indices, shape, axis, unique)


@multilinear(
    mixed=False,
    input=lambda g, input_shape, indices, dim, keepdim: _put_back(
        g, indices, input_shape, dim, keepdim
    ),
    indices=None,
    batch=at_places,
    label="ValueSelectingReductionBackward0",
    name="gather",
)
def _pick(input: Value, indices: Value, dim: int, keepdim: bool) -> Value:
    axis = axis_of(dim, input.ndim)
    values = kernels.selection.take_along(
        input, kernels.selection.keep_axis(indices, axis, keepdim), axis
    )
    return kernels.selection.drop_axis(values, axis, keepdim)


@multilinear(
    mixed=False,
    input=lambda g, indices, dim, keepdim: _pick(g, indices, dim, keepdim),
    indices=None,
    batch=at_places,
    name="gather_backward",
)
def _put_back(
    input: Value, indices: Value, shape: tuple[int, ...], dim: int, keepdim: bool
) -> Value:
    axis = axis_of(dim, len(shape))
    g, indices = (
        kernels.selection.keep_axis(np.asarray(x), axis, keepdim or not shape)
        for x in (input, indices)
    )
    return kernels.selection.add_along(g, indices, shape, axis, True)


def picked(name: str, input: Tensor, indices: Tensor, dim: int, keepdim: bool) -> ValuesIndices:
    """The elements selected by reduction `name` over `dim`, with their indices."""
    result: ValuesIndices = result_of(name, _pick(input, indices, dim, keepdim), indices)
    return result
