"""Transforms of vectors and matrices, and several transforms side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.core.info import finfo
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._numbers import sum_rightmost
from wengert.distributions._scalar_transforms import kept_inside
from wengert.distributions._transform import Plain, Transform
from wengert.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from wengert.ops.activation import logsigmoid, softplus
from wengert.ops.exponential import sigmoid
from wengert.ops.joining import cat, stack
from wengert.ops.padding import pad
from wengert.ops.softmax import softmax
from wengert.tensor.creation import eye


class SoftmaxTransform(Plain):
    """``y = softmax(x)`` along the last dimension; ``log(y)`` is one of its inverses.

    >>> import wengert
    >>> from wengert.distributions.transforms import SoftmaxTransform
    >>> SoftmaxTransform()(wengert.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _at_least(1, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _at_least(1, shape)


def _at_least(dims: int, shape: Any) -> Any:
    if len(shape) < dims:
        raise ValueError(f"Too few dimensions on input: expected {dims}, got shape {tuple(shape)}")
    return shape


class StickBreakingTransform(Plain):
    """Vectors as points of a simplex of one dimension more: each breaks a piece off the rest.

    >>> import wengert
    >>> from wengert.distributions.transforms import StickBreakingTransform
    >>> StickBreakingTransform()(wengert.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        # The shift makes zeros the center.
        piece = kept_inside(sigmoid(x - _remaining(x).log()))
        remaining = (1 - piece).cumprod(-1)
        return pad(piece, [0, 1], value=1) * pad(remaining, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        remaining = (1 - pieces.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return pieces.log() - remaining.log() + _remaining(pieces).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        shifted = x - _remaining(x).log()
        return (-shifted + logsigmoid(shifted) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        shape = _at_least(1, shape)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        shape = _at_least(1, shape)
        return Size((*shape[:-1], shape[-1] - 1))


def _remaining(x: Tensor) -> Tensor:
    """n, n - 1, ..., 1: how many pieces are left to break off, for each of n."""
    return x.new_ones(x.shape[-1]).cumsum(-1).flip(-1)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices.

    The tanh of each number is a partial correlation; in each row it takes its part of what the
    numbers before it have left of the unit length.

    >>> import wengert
    >>> from wengert.distributions.transforms import CorrCholeskyTransform
    >>> CorrCholeskyTransform()(wengert.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial.square()).sqrt().cumprod(-1)
        unit = partial + eye(partial.shape[-1], dtype=x.dtype)
        return unit * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = (1 - (y * y).cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        left = pad(left[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return ((partial).log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = 1 - (y * y).cumsum(-1)
        # For each number what is left before it; in the first column that is everything.
        stretch = tril_matrix_to_vec(left, diag=-2).log().sum(-1) / 2
        slope = 2 * (math.log(2.0) - x - softplus(-2 * x))
        return stretch + slope.sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        n = _at_least(1, shape)[-1]
        rows = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if rows * (rows - 1) // 2 != n:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {n} elements")
        return Size((*shape[:-1], rows, rows))

    def inverse_shape(self, shape: Any) -> Any:
        shape = _at_least(2, shape)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: shape {tuple(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(Plain):
    """Square matrices as lower triangular ones with a positive diagonal.

    >>> import wengert
    >>> from wengert.distributions.transforms import LowerCholeskyTransform
    >>> LowerCholeskyTransform()(wengert.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """Square matrices as positive definite ones, through their Cholesky factors.

    >>> import wengert
    >>> from wengert.distributions.transforms import PositiveDefiniteTransform
    >>> PositiveDefiniteTransform()(wengert.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        from wengert.linalg import cholesky

        return LowerCholeskyTransform().inv(cholesky(y))


class _SideBySide(Transform):
    """Several transforms, each on its part of a dimension."""

    transforms: list[Transform]
    dim: int

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _parts(self, value: Any) -> list[Any]:
        raise NotImplementedError

    def _join(self, pieces: list[Any]) -> Any:
        raise NotImplementedError

    def _call(self, x: Any) -> Any:
        return self._join([t(v) for t, v in zip(self.transforms, self._parts(x), strict=True)])

    def _inverse(self, y: Any) -> Any:
        pieces = zip(self.transforms, self._parts(y), strict=True)
        return self._join([t.inv(v) for t, v in pieces])


def _transforms(tseq: Sequence[Transform], cache_size: int) -> list[Transform]:
    if not all(isinstance(t, Transform) for t in tseq):
        raise AssertionError(f"tseq: expected Transforms, got {tseq!r}")
    return [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)


class CatTransform(_SideBySide):
    """Transforms on consecutive pieces of dimension `dim`, of these `lengths`.

    >>> import wengert
    >>> from wengert.distributions.transforms import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(wengert.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = _transforms(tseq, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths: expected {len(self.transforms)} of them, got {lengths}")
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _parts(self, value: Any) -> list[Any]:
        if not (-value.dim() <= self.dim < value.dim() and value.size(self.dim) == self.length):
            raise AssertionError(
                f"CatTransform: expected size {self.length} in dimension {self.dim}, got shape"
                f" {tuple(value.shape)}"
            )
        return list(value.split(self.lengths, self.dim))

    def _join(self, pieces: list[Any]) -> Any:
        return cat(pieces, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        changes = []
        for t, a, b in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            change = t.log_abs_det_jacobian(a, b)
            changes.append(sum_rightmost(change, self.event_dim - t.event_dim))
        # From the end, over the dimensions that events have left.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(changes, dim) if dim < 0 else sum(changes)


class StackTransform(_SideBySide):
    """Transforms on the slices of dimension `dim`.

    >>> import wengert
    >>> from wengert.distributions.transforms import ExpTransform, StackTransform, TanhTransform
    >>> StackTransform([ExpTransform(), TanhTransform()])(wengert.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = _transforms(tseq, cache_size), dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    @property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _parts(self, value: Any) -> list[Any]:
        if not (
            -value.dim() <= self.dim < value.dim() and value.size(self.dim) == len(self.transforms)
        ):
            raise AssertionError(
                f"StackTransform: expected size {len(self.transforms)} in dimension {self.dim},"
                f" got shape {tuple(value.shape)}"
            )
        return [value.select(self.dim, i) for i in range(len(self.transforms))]

    def _join(self, pieces: list[Any]) -> Any:
        return stack(pieces, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pieces = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in pieces], self.dim)


__all__ = [
    "CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform",
]  # fmt: skip
