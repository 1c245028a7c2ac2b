"""Distances and similarities between vectors."""

from __future__ import annotations

import numpy as np

from wengert._core import Tensor, wrap
from wengert._dtypes import FLOAT, of_numpy
from wengert.ops._variadic import require_tensor
from wengert.ops.expansion import broadcast_tensors
from wengert.ops.reduction import norm, vector_norm


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` over the last dimension.

    >>> import wengert
    >>> wengert.nn.functional.pairwise_distance(wengert.tensor([[3., 4.]]), wengert.zeros(1, 2))
    tensor([5.0000])
    """
    require_tensor("pairwise_distance", "x1", x1)
    require_tensor("pairwise_distance", "x2", x2, 2)
    return norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`.

    >>> import wengert
    >>> wengert.cosine_similarity(wengert.tensor([[1., 0.]]), wengert.tensor([[1., 1.]]))
    tensor([0.7071])
    """
    require_tensor("cosine_similarity", "x1", x1)
    require_tensor("cosine_similarity", "x2", x2, 2)
    for x in (x1, x2):
        kind = of_numpy[x._array.dtype]
        if kind.category < FLOAT:
            raise RuntimeError(
                f"expected common dtype to be floating point, yet common dtype is {kind.short}"
            )
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    lengths = [vector_norm(x, 2, dim, True).clamp_min(eps) for x in (x1, x2)]
    return (x1 / lengths[0] * (x2 / lengths[1])).sum(dim)


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:  # fmt: skip
    """The p-norm distances of all rows of `x1` (..., n, width) to those of `x2` (..., m, width).

    All of `compute_mode` give the exact differences. Raises RuntimeError for shapes that do
    not fit.

    >>> import wengert
    >>> wengert.cdist(wengert.tensor([[0., 0.]]), wengert.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    require_tensor("cdist", "x1", x1)
    require_tensor("cdist", "x2", x2, 2)
    for name, x in (("X1", x1), ("X2", x2)):
        kind = of_numpy[x._array.dtype]
        if kind.category < FLOAT:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {kind.short}"
            )
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows of `input`, those of the first row first.

    >>> import wengert
    >>> wengert.nn.functional.pdist(wengert.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    require_tensor("pdist", "input", input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    first, second = (wrap(i) for i in np.triu_indices(input.shape[0], 1))
    return norm(input[first] - input[second], p, -1)


__all__ = ["cdist", "cosine_similarity", "pairwise_distance", "pdist"]
FUNCTIONAL = ("cosine_similarity", "pairwise_distance", "pdist")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
