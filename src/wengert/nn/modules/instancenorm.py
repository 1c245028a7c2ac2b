"""Normalisation of each sample and channel separately."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.modules.batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    """Instance normalisation; subclasses set the number of dimensions of a sample."""

    sample_dims: int  # of one sample, its channels included

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        n = self.sample_dims
        if input._outline.ndim not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input._outline.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        shape = input._outline.shape
        channels = shape[-self.sample_dims]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={len(shape) - self.sample_dims} to match"
                    f" num_features ({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={len(shape) - self.sample_dims} does not match num_features."
                " You can silence this warning by not passing in num_features, which is not used"
                " because affine=False",
                UserWarning,
                stacklevel=3,
            )
        if len(shape) == self.sample_dims:  # no batch
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _normalise(self, input: Any) -> Any:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L).

    Args:
        num_features: channels, C.
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.InstanceNorm1d(3)(wengert.zeros(4, 3, 5)).shape
    torch.Size([4, 3, 5])
    """

    sample_dims = 2


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W).

    Args:
        num_features: channels, C.
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.InstanceNorm2d(3)(wengert.zeros(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    sample_dims = 3


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W).

    Args:
        num_features: channels, C.
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.InstanceNorm3d(3)(wengert.zeros(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    sample_dims = 4


__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
