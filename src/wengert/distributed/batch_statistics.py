"""Batch normalization over the batches of all ranks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.nn.functional import all_gather
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import group_of, is_initialized
from wengert.ops import cat, stack, var_mean


class BatchStatistics(NamedTuple):
    """Mean and (biased) variance of each channel, and the number of values."""

    mean: Tensor
    variance: Tensor
    values: int


def group_to_join(group: ProcessGroup | None) -> ProcessGroup | None:
    """The group whose ranks share their statistics; None if there is one rank."""
    if group is None and not is_initialized():
        return None
    chosen = group_of(group)
    return None if chosen is None or chosen.size() == 1 else chosen


def joint_statistics(input: Tensor, group: ProcessGroup) -> BatchStatistics:
    """The statistics of channels over the batches of all ranks; they can be differentiated.

    The variance is put together of those within ranks and that between their means, so that
    nothing cancels.
    """
    dims = [0, *range(2, input.ndim)]
    own = input.numel() // max(input.shape[1], 1)
    if own:
        variance, mean = var_mean(input, dims, correction=0)
    else:
        mean = input.sum(dims)
        variance = mean
    count = wrap(np.full(1, own, input._array.dtype))
    channels = mean.shape[0]
    rows = stack(list(all_gather(cat([mean, variance, count]), group)))
    weights = rows[:, -1:].detach()
    total = weights.sum()
    means, variances = rows[:, :channels], rows[:, channels:-1]
    joint = (weights * means).sum(0) / total
    spread = (weights * (variances + (means - joint) ** 2)).sum(0) / total
    return BatchStatistics(joint, spread, int(total.item()))


def normalized(input: Tensor, statistics: BatchStatistics, eps: float, module: Any) -> Tensor:
    """The input, normalized, scaled and shifted."""
    shape = [1, -1] + [1] * (input.ndim - 2)
    scale = (statistics.variance + eps).rsqrt()
    if module.weight is not None:
        scale = scale * module.weight
    output = (input - statistics.mean.reshape(shape)) * scale.reshape(shape)
    return output if module.bias is None else output + module.bias.reshape(shape)


__all__ = ["BatchStatistics", "group_to_join", "joint_statistics", "normalized"]
