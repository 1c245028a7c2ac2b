"""Collectives that can be differentiated, any number of times.

All ranks have to run the backward, too: each derivative is a collective. The loss is the sum of
what the ranks compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd import Function
from wengert.core.tensor import Tensor, wrap
from wengert.distributed import collectives
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp, check_reduction
from wengert.distributed.world import get_rank, get_world_size, group_of
from wengert.ops import amax, amin, cat, prod, stack

Group = ProcessGroup | None
SUM = ReduceOp.SUM
# What is no sum is computed by each rank that needs it, from what all have: derivatives follow.
_FOLDS: dict[Any, Any] = {ReduceOp.PRODUCT: prod, ReduceOp.MIN: amin, ReduceOp.MAX: amax}


def _folded(op: ReduceOp, rows: Sequence[Tensor]) -> Tensor:
    folded: Tensor = _FOLDS[op](stack(list(rows)), 0)
    return folded.to(rows[0].dtype)


def _empty(tensor: Tensor) -> Tensor:
    return wrap(np.empty_like(tensor._array, order="C"))


def _place(rank: int, group: Group) -> int:
    """The rank within the group of a rank of all."""
    chosen = group_of(group)
    assert chosen is not None
    return chosen.ranks.index(rank)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Group, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, g)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Group, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, _Reduce.apply(ctx.src, SUM, ctx.group, g)


class _Reduce(Function):
    """The reduction at one rank; zeros at the others."""

    @staticmethod
    def forward(ctx: Any, dst: int, op: ReduceOp, group: Group, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        result = tensor.clone()
        collectives.reduce(result, dst, op, group)
        return result if get_rank(group) == _place(dst, group) else result.zero_()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        spread = _Broadcast.apply(ctx.dst, ctx.group, g)
        if ctx.op is ReduceOp.AVG:
            spread = spread / get_world_size(ctx.group)
        return None, None, None, spread


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Group, tensor: Tensor) -> Any:
        ctx.group = group
        results = [_empty(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(results, tensor, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, _ReduceScatter.apply(SUM, ctx.group, *gs)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Group, *tensors: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = _empty(tensors[get_rank(group)])
        collectives.reduce_scatter(result, list(tensors), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        gathered = _AllGather.apply(ctx.group, g)
        if ctx.op is ReduceOp.AVG:
            gathered = tuple(row / get_world_size(ctx.group) for row in gathered)
        return None, None, *gathered


class _Gather(Function):
    """The tensors of all ranks at one; zeros at the others."""

    @staticmethod
    def forward(ctx: Any, dst: int, group: Group, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        results = [wrap(np.zeros_like(tensor._array)) for _ in range(get_world_size(group))]
        own = get_rank(group) == _place(dst, group)
        collectives.gather(tensor, results if own else None, dst, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gs)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Group, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = _empty(tensors[0])
        own = get_rank(group) == _place(src, group)
        collectives.scatter(result, list(tensors) if own else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, g)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Group, shapes: Any, *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [tuple(t.shape) for t in tensors]
        results = [wrap(np.empty(shape, tensors[0]._array.dtype)) for shape in shapes]
        collectives.all_to_all(results, list(tensors), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *gs)


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The reduction of all ranks' tensors, on each rank.

    SUM, AVG, PRODUCT, MIN and MAX have derivatives; ranks that tie share that of MIN and MAX.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.all_reduce(wengert.ones(2, requires_grad=True)).requires_grad
    True
    >>> dist.destroy_process_group()
    """
    if op in _FOLDS:
        check_reduction("all_reduce", op, tensor._array.dtype)
        return _folded(op, _AllGather.apply(group, tensor))
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """The tensor of rank `src`, on each rank.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.broadcast(wengert.ones(2), src=0)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The reduction of all ranks' tensors at rank `dst`, zeros at the others.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.reduce(wengert.ones(2), dst=0)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if op in _FOLDS:
        check_reduction("reduce", op, tensor._array.dtype)
        return _folded(op, _Gather.apply(dst, group, tensor))
    return _Reduce.apply(dst, op, group, tensor)


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on each rank.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.all_gather(wengert.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    return _AllGather.apply(group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks at rank `dst`, zeros at the others.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.gather(wengert.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Group = None) -> Tensor:
    """One of the tensors of rank `src`, on each rank.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.scatter([wengert.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: ReduceOp = SUM, group: Group = None
) -> Tensor:
    """The reduction of what all ranks have for this one; `output` is not written.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.reduce_scatter(wengert.zeros(2), [wengert.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if op in _FOLDS:
        check_reduction("reduce_scatter", op, output._array.dtype)
        shapes = [tuple(output.shape)] * get_world_size(group)
        return _folded(op, _AllToAll.apply(group, shapes, *input_list))
    return _ReduceScatter.apply(op, group, *input_list)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Group = None
) -> tuple[Tensor, ...]:
    """What the ranks have for this one, in the shapes of `output_tensor_list`.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.all_to_all([wengert.zeros(2)], [wengert.ones(2)])
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    shapes = [tuple(t.shape) for t in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
) -> Tensor:
    """`all_to_all`, with what goes to the ranks, and comes from them, in one tensor each.

    >>> import wengert, wengert.distributed as dist, wengert.distributed.nn as dist_nn
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist_nn.all_to_all_single(wengert.zeros(2), wengert.ones(2))
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    ranks = get_world_size(group)
    sizes_in = input_split_sizes or [input.shape[0] // ranks] * ranks
    sizes_out = output_split_sizes or [output.shape[0] // ranks] * ranks
    outputs = output.detach().split(sizes_out)
    return cat(all_to_all(list(outputs), list(input.split(sizes_in)), group))


__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
