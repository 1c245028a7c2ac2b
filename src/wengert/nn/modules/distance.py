"""Distances and similarities of pairs of vectors."""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module


class PairwiseDistance(Module):
    """The p-norm of the difference of two tensors along the last dimension.

    Args:
        p: degree of the norm.
        eps: added to the difference.
        keepdim: whether the last dimension stays, with size 1.

    >>> import wengert
    >>> wengert.nn.PairwiseDistance()(wengert.zeros(4, 3), wengert.ones(4, 3)).shape
    torch.Size([4])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along a dimension.

    Args:
        dim: the dimension of the vectors.
        eps: smallest product of norms.

    >>> import wengert
    >>> wengert.nn.CosineSimilarity()(wengert.ones(4, 3), wengert.ones(4, 3)).shape
    torch.Size([4])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


__all__ = ["CosineSimilarity", "PairwiseDistance"]
