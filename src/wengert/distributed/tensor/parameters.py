"""Parameters of which each rank has a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import all_reduce
from wengert.distributed.reduce_op import ReduceOp
from wengert.distributed.tensor.dtensor import DTensor, distributed
from wengert.nn import Parameter


class ShardedParameter(DTensor, Parameter, unwrapped=False):  # type: ignore[misc]
    """A parameter of which each rank holds, and trains, a part."""

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        """The part of a distributed tensor, as a parameter."""
        return distributed(data.detach(), data._layout, cls).requires_grad_(requires_grad)

    @staticmethod
    def joint_norm(parameters: Sequence[Tensor], order: float) -> Tensor:
        """The norm of all gradients, of whatever parts; all ranks call this."""
        alike: dict[Any, list[Tensor]] = {}
        for p in parameters:
            alike.setdefault(_cut_over(p), []).append(p)
        largest = np.isinf(order)
        total = np.zeros(1)
        for cut, members in alike.items():
            own = _power_sum(members, order)
            for group in _groups(members[0], cut):
                all_reduce(wrap(own), ReduceOp.MAX if largest else ReduceOp.SUM, group)
            total = np.maximum(total, own) if largest else total + own
        dtype = next(p for p in parameters if isinstance(p, DTensor))._array.dtype
        norm = total if largest else total ** (1 / order)
        return wrap(np.asarray(norm).reshape(()).astype(dtype))


def _cut_over(p: Tensor) -> Any:
    """A mesh, and those of its dimensions over which a parameter is cut; None if it is whole."""
    if not isinstance(p, DTensor):
        return None
    dims = tuple(k for k, placement in enumerate(p.placements) if placement.is_shard())
    return (p.device_mesh, dims) if dims else None


def _groups(p: Any, cut: Any) -> list[Any]:
    return [] if cut is None else [p.device_mesh.get_group(dim) for dim in cut[1]]


def _power_sum(parameters: Sequence[Tensor], order: float) -> np.ndarray:
    total = np.zeros(1)
    for p in parameters:
        gradient = p.grad
        if gradient is None or not gradient._array.size:
            continue
        values = np.abs(gradient._array.astype(np.float64))
        total = (
            np.maximum(total, values.max()) if np.isinf(order) else total + (values**order).sum()
        )
    return total


DTensor.parameter_class = ShardedParameter
