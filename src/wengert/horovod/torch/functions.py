"""Parameters, optimizers and objects of one rank, on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert import distributed
from wengert.core.tensor import Tensor
from wengert.horovod.common.process_sets import ProcessSet, global_process_set
from wengert.horovod.torch.exchanges import broadcast_async_
from wengert.horovod.torch.negotiation import synchronize
from wengert.optim import LBFGS


def broadcast_parameters(
    params: dict[str, Any] | Iterable[tuple[str, Any]],
    root_rank: int,
    process_set: ProcessSet = global_process_set,
) -> None:
    """Copy the parameters of rank `root_rank` into the others'.

    Args:
        params: a `state_dict`, or `named_parameters`.
        root_rank: whose parameters all ranks get.
        process_set: the ranks.

    ValueError unless `params` is one of these.
    """
    if isinstance(params, dict):
        named = sorted(params.items())
    elif isinstance(params, list | tuple) or hasattr(params, "__next__"):
        named = [p if isinstance(p, tuple) else ("", p) for p in params]
    else:
        raise ValueError(f"invalid params of type: {type(params)}")
    handles = [
        broadcast_async_(value, root_rank, name or None, process_set)
        for name, value in named
        if isinstance(value, Tensor)
    ]
    for handle in handles:
        synchronize(handle)


def broadcast_optimizer_state(optimizer: Any, root_rank: int, model: Any = None) -> None:
    """Give the optimizers of all ranks the state and the options of rank `root_rank`'s."""
    if isinstance(optimizer, LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    own = global_process_set.group().rank() == root_rank
    state = broadcast_object(optimizer.state_dict() if own else None, root_rank)
    if not own:
        optimizer.load_state_dict(state)


def broadcast_object(
    obj: Any = None,
    root_rank: int = 0,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """The object of rank `root_rank`."""
    objects = [obj]
    distributed.broadcast_object_list(objects, root_rank, process_set.group())
    return objects[0]


def allgather_object(
    obj: Any, name: str | None = None, process_set: ProcessSet = global_process_set
) -> list[Any]:
    """The objects of all ranks."""
    group = process_set.group()
    objects = [None] * group.size()
    distributed.all_gather_object(objects, obj, group)
    return objects


__all__ = [
    "allgather_object",
    "broadcast_object",
    "broadcast_optimizer_state",
    "broadcast_parameters",
]
