"""``allreduce`` of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from wengert.horovod.common.process_sets import ProcessSet, global_process_set
from wengert.horovod.torch.exchanges import allgather_async
from wengert.horovod.torch.negotiation import synchronize
from wengert.horovod.torch.reductions import Average, Reduction, Sum, chosen_op
from wengert.sparse.construction import sparse_coo_tensor


def sparse_allreduce_async(
    tensor: Any, name: str, op: Any, process_set: ProcessSet = global_process_set
) -> Callable[[], Any]:
    """The sum or average of sparse tensors: a function that waits, and returns it."""
    reduction = chosen_op(op, None)
    if reduction not in (Sum, Average):
        raise ValueError(f"sparse_allreduce_async(): op={reduction.name}, expected Sum or Average")
    entries = tensor.coalesce()
    indices = allgather_async(entries.indices().t(), f"{name}.indices", process_set)
    values = allgather_async(entries.values(), f"{name}.values", process_set)
    return partial(_joined, indices, values, tensor.shape, reduction, process_set)


def _joined(indices: int, values: int, shape: Any, op: Reduction, process_set: ProcessSet) -> Any:
    places, entries = synchronize(indices), synchronize(values)
    if op is Average:
        entries = entries / process_set.group().size()
    return sparse_coo_tensor(places.t(), entries, shape)


__all__ = ["sparse_allreduce_async"]
