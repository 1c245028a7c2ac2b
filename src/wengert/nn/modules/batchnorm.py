"""Normalisation with statistics over the batch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.preparations import effect
from wengert.core.tensor import Tensor, Tracer, wrap
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import full_tensor, parameter_of
from wengert.nn.modules.normalization import _Affine


class _NormBase(_Affine):
    """Per-channel scale, shift and running statistics of batch and instance norms."""

    _version = 2
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._register_affine(
            (num_features,), weight=affine, bias=affine and bias, device=device, dtype=dtype
        )
        mean = variance = count = None
        if track_running_stats:
            mean = full_tensor(0, num_features, device=device, dtype=dtype)
            variance = full_tensor(1, num_features, device=device, dtype=dtype)
            count = full_tensor(0, device=device, dtype=dtypes.int64)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running mean to 0, the running variance to 1 and the batch count to 0."""
        if self.track_running_stats:
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Reset scale to 1, shift to 0, and the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum},"
            f" affine={self.affine}, bias={self.bias is not None},"
            f" track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *lists: Any,
    ) -> None:
        key = prefix + "num_batches_tracked"
        old = local_metadata.get("version") is None or local_metadata["version"] < 2
        if old and self.track_running_stats and key not in state_dict:
            # Layouts before version 2 had no count.
            count = self.num_batches_tracked
            state_dict[key] = wrap(np.zeros((), np.int64)) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)


class _BatchNorm(_NormBase):
    """Batch normalisation; its subclasses check the number of dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        track = self.training and self.track_running_stats
        factor: Any = 0.0 if self.momentum is None else self.momentum
        if track and self.num_batches_tracked is not None:
            count = _count_batch(self.num_batches_tracked)
            if self.momentum is None:  # the average over all batches
                factor = 1.0 / count
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            parameter_of(self, "weight"),
            parameter_of(self, "bias"),
            by_batch,
            factor,
            self.eps,
        )


@effect
def _count_batch(batches: Tensor) -> Any:
    """Count a batch; return the count, a tensor if models in a batch count separately."""
    if isinstance(batches, Tracer):
        return batches.add_(1)
    batches._array += 1
    return float(batches._array)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L).

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
    >>> wengert.nn.BatchNorm1d(3)(wengert.zeros(4, 3)).shape
    torch.Size([4, 3])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input._outline.ndim not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input._outline.ndim}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W).

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
    >>> wengert.nn.BatchNorm2d(3)(wengert.zeros(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input._outline.ndim != 4:
            raise ValueError(f"expected 4D input (got {input._outline.ndim}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W).

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
    >>> wengert.nn.BatchNorm3d(3)(wengert.zeros(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input._outline.ndim != 5:
            raise ValueError(f"expected 5D input (got {input._outline.ndim}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all ranks of a process group.

    Without a group, or in a group of one, it is an ordinary batch normalisation.

    Args:
        num_features: channels, C.
        eps: added to the denominator, against division by zero.
        momentum: weight of the new batch in the running averages; None: equal weights.
        affine: whether to learn a scale and an offset per channel.
        track_running_stats: whether to keep averages for evaluation.
        process_group: the ranks; None means all.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.SyncBatchNorm(4)(wengert.zeros(2, 4, 3)).shape
    torch.Size([2, 4, 3])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        # Where there is a process group, the module that knows it is already loaded.
        joint = sys.modules.get("wengert.distributed.batch_statistics")
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        group = joint.group_to_join(self.process_group) if joint and by_batch else None
        if joint is None or group is None:
            return super().forward(input)
        self._check_input_dim(input)
        statistics = joint.joint_statistics(input, group)
        if self.training and self.track_running_stats:
            self._track(*statistics)
        normalized: Tensor = joint.normalized(input, statistics, self.eps, self)
        return normalized

    def _track(self, mean: Tensor, variance: Tensor, count: int) -> None:
        assert self.num_batches_tracked is not None
        assert self.running_mean is not None
        assert self.running_var is not None
        batches = _count_batch(self.num_batches_tracked)
        factor = 1.0 / batches if self.momentum is None else self.momentum
        unbiased = variance.detach() * (count / max(count - 1, 1))
        self.running_mean.lerp_(mean.detach(), factor)
        self.running_var.lerp_(unbiased, factor)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with each batch norm replaced by a SyncBatchNorm with the same tensors.

        >>> import wengert
        >>> net = wengert.nn.Sequential(wengert.nn.BatchNorm1d(2))
        >>> type(wengert.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
        'SyncBatchNorm'
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            converted._parameters.update(module._parameters)
            converted._buffers.update(module._buffers)
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]
