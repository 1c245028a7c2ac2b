"""Averages of parameters over ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed.collectives import all_reduce_coalesced
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp
from wengert.distributed.world import default_group, group_of

Params = Iterable[Tensor] | Iterable[dict[str, Any]]


def get_params_to_average(params: Params) -> list[Tensor]:
    """The parameters, of a list or of an optimizer's groups, that have a gradient.

    >>> import wengert
    >>> from wengert.distributed.algorithms.model_averaging import utils
    >>> len(utils.get_params_to_average([wengert.nn.Parameter(wengert.ones(2))]))
    0
    """
    tensors: list[Tensor] = []
    for entry in params:
        tensors += entry["params"] if isinstance(entry, dict) else [entry]
    return [tensor for tensor in tensors if tensor.grad is not None]


def average_parameters(params: Iterable[Tensor], process_group: ProcessGroup | None) -> None:
    """Replace parameters by their averages over the ranks; None means all.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.algorithms.model_averaging import utils
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> utils.average_parameters([wengert.ones(2)], None)
    >>> dist.destroy_process_group()
    """
    group = default_group() if process_group is None else process_group
    if group_of(group) is None:
        return
    by_dtype: dict[Any, list[Tensor]] = {}
    for tensor in params:
        by_dtype.setdefault(tensor.dtype, []).append(tensor)
    for tensors in by_dtype.values():
        all_reduce_coalesced(tensors, ReduceOp.AVG, group)


def average_parameters_or_parameter_groups(
    params: Params, process_group: ProcessGroup | None
) -> None:
    """`average_parameters` of those that have a gradient.

    >>> import wengert.distributed as dist
    >>> from wengert.distributed.algorithms.model_averaging import utils
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> utils.average_parameters_or_parameter_groups([], None)
    >>> dist.destroy_process_group()
    """
    average_parameters(get_params_to_average(params), process_group)


__all__ = [
    "average_parameters",
    "average_parameters_or_parameter_groups",
    "get_params_to_average",
]
