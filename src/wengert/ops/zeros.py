"""Zeros in derivatives: constant rules, missing tangents and masks; and ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.kernels.masking import kept
from wengert.ops.batching import Batch, leading
from wengert.ops.declare import Value, multilinear
from wengert.ops.shape import padded


@multilinear(
    g=lambda g: no_slope(g), batch=leading, name="zeros_like", scalar=lambda g: g.dtype.type(0)
)
def no_slope(g: Value) -> Value:
    """The gradient of a piecewise constant function: zeros."""
    return np.zeros_like(g)


def or_zeros(tangent: Value | None, like: Value) -> Value:
    """A tangent, or zeros if an input has none."""
    return no_slope(like) if tangent is None else tangent


def zeros_matching(like: Any) -> Tensor:
    """Zeros in the shape and dtype of a value."""
    return wrap(np.zeros(tuple(like.shape), like._outline.dtype))


def ones_matching(like: Any) -> Tensor:
    """Ones in the shape and dtype of a value."""
    return wrap(np.ones(tuple(like.shape), like._outline.dtype))


def aligned(b: Batch) -> Value:
    """Dimensions of samples aligned from the last; the first input has those of the result."""
    rank = max(b.rank(i) for i in b.op.inputs)
    values = {i: padded(b.values[i], rank) for i in b.batched}
    first = b.op.inputs[0]
    return b(**{first: padded(b.whole(first), rank), **values})


@multilinear(
    mixed=False,
    input=lambda g, mask: keep(g, mask),
    mask=None,
    batch=aligned,
    name="where_backward",
    scalar=lambda input, mask: np.where(mask, input, 0.0),
)
def keep(input: Value, mask: Value) -> Value:
    """`input` where the mask, which broadcasts to its shape, is true; zero elsewhere.

    Unlike a product with the mask, it blocks NaN and infinity.
    """
    return kept(input, mask, where=True)


@multilinear(
    mixed=False,
    input=lambda g, mask: drop(g, mask),
    mask=None,
    batch=aligned,
    name="masked_fill",
    scalar=lambda input, mask: np.where(mask, 0.0, input),
)
def drop(input: Value, mask: Value) -> Value:
    """`input` where the mask, which broadcasts to its shape, is false; zero elsewhere."""
    return kept(input, mask, where=False)
