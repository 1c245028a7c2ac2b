"""Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.info import finfo
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._numbers import standard_normal
from wengert.distributions.beta import Beta
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.ops.gamma import mvlgamma
from wengert.ops.joining import cat
from wengert.ops.special import lgamma
from wengert.tensor.ranges import arange


class LKJCholesky(Distribution):
    """Lower triangular L, where ``L @ L.T`` are correlation matrices of size `dim`.

    Their density goes with the power `concentration` - 1 of the determinant; they are built
    row by row, each on the sphere, by the onion method.

    References:
        D. Lewandowski, D. Kurowicka and H. Joe, Generating random correlation matrices based
        on vines and extended onion method, Journal of Multivariate Analysis 100 (2009).

    >>> from wengert.distributions import LKJCholesky
    >>> LKJCholesky(3, 0.5).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = {"concentration": 0, "_beta": 1}
    _shared = ("dim",)

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch = self.concentration.size()
        # The squared length of each row left of the diagonal; the first has none.
        rows = arange(dim - 1, dtype=self.concentration.dtype)
        rows = cat([rows.new_zeros((1,)), rows])
        top = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, top.unsqueeze(-1) - 0.5 * rows)
        super().__init__(batch, Size((dim, dim)), validate_args=validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            direction = standard_normal(shape, self.concentration).tril(-1)
            direction = direction / direction.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            below = squared.sqrt() * direction
            tiny = finfo(below.dtype).tiny
            diagonal = (1 - below.pow(2).sum(-1)).clamp(min=tiny).sqrt()
            return below + diagonal.diag_embed()

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, dtype=self.concentration.dtype)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * n
        numerator = mvlgamma(alpha - 0.5, p=n)
        constant = 0.5 * n * math.log(math.pi) + numerator - lgamma(alpha) * n
        return density - constant


__all__ = ["LKJCholesky"]
