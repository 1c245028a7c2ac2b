"""Random zeros in training, the identity in evaluation."""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module


class _DropoutNd(Module):
    """A dropout; subclasses define what is dropped together."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, zeroes each element with probability `p` and scales the others by 1/(1-p).

    Args:
        p: probability that an element becomes zero; the others are divided by 1 - p.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Dropout(0.2).eval()(wengert.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L).

    Args:
        p: probability that a channel becomes zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Dropout1d(0.2)(wengert.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W).

    Args:
        p: probability that a channel becomes zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Dropout2d(0.2)(wengert.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W).

    Args:
        p: probability that a channel becomes zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Dropout3d(0.2)(wengert.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that preserves mean and variance, for use with SELU.

    Args:
        p: probability that an element is dropped.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.AlphaDropout(0.2)(wengert.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels.

    Args:
        p: probability that a channel is dropped.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.FeatureAlphaDropout(0.2)(wengert.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)


__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]
