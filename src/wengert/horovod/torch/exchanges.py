"""``allgather``, ``broadcast``, ``alltoall``, ``reducescatter`` and ``barrier``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.autograd import Function
from wengert.core.dtypes import by_name
from wengert.core.tensor import Tensor, wrap
from wengert.distributed import collectives, schedules
from wengert.distributed.arguments import FlatOutput, flat_in
from wengert.distributed.reduce_op import RedOpType
from wengert.horovod.common.process_sets import ProcessSet, global_process_set
from wengert.horovod.torch.compression import Compression
from wengert.horovod.torch.negotiation import Handle, enlist, follows, request, start
from wengert.horovod.torch.reductions import Average, Reduction, Sum, grouped_allreduce, scale

# Allgather


def _gather(comm: Any, requests: Any, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each row behind those of the other ranks; whoever has joined has none."""
    asked = next(a for a in requests if a["kind"] != "join")
    gathered = []
    for i, row in enumerate(rows):
        tail = asked["shapes"][i][1:]
        width = int(np.prod(tail))
        counts = [a["shapes"][i][0] if a["kind"] != "join" else 0 for a in requests]
        output = np.empty(sum(counts) * width, row.dtype)
        ends = np.cumsum([0, *counts]) * width
        pieces = [output[a:b] for a, b in pairwise(ends)]
        # As one rank's call may expect other sizes than its own, every pair has its own.
        schedules.all_to_all(comm, pieces, [row] * comm.size)
        gathered.append(output.reshape(sum(counts), *tail))
    return gathered


@follows("allgather")
def _follow_allgather(comm: Any, requests: Any, asked: dict[str, Any]) -> None:
    _gather(comm, requests, [np.empty(0, by_name(dtype).np) for dtype in asked["dtypes"]])


def _start_allgather(
    tensors: Sequence[Tensor], name: str | None, process_set: ProcessSet, async_op: bool
) -> Handle:
    for tensor in tensors:
        if tensor.ndim == 0:
            raise ValueError("allgather(): a tensor without dimensions; expected at least one")
    rows = [flat_in(tensor) for tensor in tensors]
    outputs: list[Tensor] = []

    def algorithm(comm: Any, requests: Any) -> None:
        outputs.extend(map(wrap, _gather(comm, requests, rows)))

    own = request("allgather", name, tensors)
    return start(own, process_set, algorithm, lambda: outputs, (), async_op)


class _Allgather(Function):
    @staticmethod
    def forward(ctx: Any, name: Any, process_set: Any, *tensors: Tensor) -> Any:
        ctx.process_set, ctx.rows = process_set, [t.shape[0] for t in tensors]
        return tuple(_start_allgather(tensors, name, process_set, False).wait())

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        """The average over the ranks, as Horovod has it: losses are averaged."""
        averages = grouped_allreduce(list(gs), op=Average, process_set=ctx.process_set)
        own = wrap(np.array([ctx.rows]))
        counts = allgather(own, process_set=ctx.process_set)._array
        before = counts[: ctx.process_set.rank()].sum(axis=0)
        pieces = [
            g.narrow(0, int(a), n) for g, a, n in zip(averages, before, ctx.rows, strict=True)
        ]
        return None, None, *pieces


def allgather(
    tensor: Tensor, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Tensor:
    """The tensors of all ranks behind each other; only their dimensions 0 may differ."""
    return grouped_allgather([tensor], name, process_set)[0]


def grouped_allgather(
    tensors: Sequence[Tensor],
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> list[Tensor]:
    """`allgather` of several tensors, in one collective."""
    return list(_Allgather.apply(name, process_set, *tensors))


def allgather_async(
    tensor: Tensor, name: str | None = None, process_set: ProcessSet = global_process_set
) -> int:
    """`allgather` in the background: the handle for `synchronize`."""
    handle = _start_allgather([tensor], name, process_set, True)
    gathered = handle.result
    handle.result = lambda: gathered()[0]
    return enlist(handle)


def grouped_allgather_async(
    tensors: Sequence[Tensor],
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`grouped_allgather` in the background: the handle for `synchronize`."""
    return enlist(_start_allgather(tensors, name, process_set, True))


# Broadcast


def _start_broadcast(
    output: Tensor, root: int, name: str | None, process_set: ProcessSet, async_op: bool
) -> Handle:
    ranks = process_set.group().ranks
    if root not in ranks:
        raise ValueError(f"broadcast(): root_rank {root}; expected one of the ranks {list(ranks)}")
    row = FlatOutput(output)

    def algorithm(comm: Any, requests: Any) -> None:
        schedules.broadcast(comm, row.row, ranks.index(root))
        row.finish()

    own = request("broadcast", name, [output], root_rank=root)
    return start(own, process_set, algorithm, lambda: output, [output], async_op)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, root: int, name: Any, process_set: Any, tensor: Tensor) -> Tensor:
        ctx.root, ctx.process_set = root, process_set
        output = wrap(np.array(tensor._array, order="C"))
        return _start_broadcast(output, root, name, process_set, False).wait()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (average,) = grouped_allreduce([g], op=Average, process_set=ctx.process_set)
        group = ctx.process_set.group()
        own = group.ranks[group.rank()] == ctx.root
        return None, None, None, average if own else average * 0


def broadcast(
    tensor: Tensor,
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Tensor:
    """The tensor of rank `root_rank`."""
    return _Broadcast.apply(root_rank, name, process_set, tensor)


def broadcast_async(
    tensor: Tensor,
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`broadcast` in the background: the handle for `synchronize`."""
    output = wrap(np.array(tensor._array, order="C"))
    return broadcast_async_(output, root_rank, name, process_set)


def broadcast_async_(
    tensor: Tensor,
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`broadcast_` in the background: the handle for `synchronize`."""
    return enlist(_start_broadcast(tensor, root_rank, name, process_set, True))


def broadcast_(
    tensor: Tensor,
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Tensor:
    """Copy the tensor of rank `root_rank` into this one."""
    _start_broadcast(tensor, root_rank, name, process_set, False).wait()
    return tensor


# All to all


def _splits_of(tensor: Tensor, splits: Any, size: int) -> list[int]:
    if tensor.ndim == 0:
        raise ValueError("alltoall(): a tensor without dimensions; expected at least one")
    rows = tensor.shape[0]
    if splits is None:
        if rows % size:
            raise ValueError(
                f"alltoall(): {rows} rows for {size} ranks; expected a multiple, or splits"
            )
        return [rows // size] * size
    numbers = [int(n) for n in (splits.tolist() if isinstance(splits, Tensor) else splits)]
    if len(numbers) != size or sum(numbers) != rows or min(numbers) < 0:
        raise ValueError(
            f"alltoall(): splits {numbers} of {rows} rows; expected one for each of {size} ranks,"
            f" which add up to {rows}"
        )
    return numbers


def _start_alltoall(
    tensor: Tensor, splits: Any, name: str | None, process_set: ProcessSet, async_op: bool
) -> Handle:
    numbers = _splits_of(tensor, splits, process_set.group().size())
    tail = tensor._array.shape[1:]
    width, row = int(np.prod(tail)), flat_in(tensor)
    ends = np.cumsum([0, *numbers]) * width
    inputs = [row[a:b] for a, b in pairwise(ends)]
    answer: list[Tensor] = []

    def algorithm(comm: Any, requests: Any) -> None:
        counts = [asked["splits"][comm.rank] for asked in requests]
        output = np.empty(sum(counts) * width, row.dtype)
        places = np.cumsum([0, *counts]) * width
        pieces = [output[a:b] for a, b in pairwise(places)]
        schedules.all_to_all(comm, pieces, inputs)
        answer.append(wrap(output.reshape(sum(counts), *tail)))
        answer.append(wrap(np.array(counts, np.int32)))

    def result() -> Any:
        return answer[0] if splits is None else tuple(answer)

    own = request("alltoall", name, [tensor], splits=numbers)
    return start(own, process_set, algorithm, result, (), async_op)


class _Alltoall(Function):
    @staticmethod
    def forward(ctx: Any, splits: Any, name: Any, process_set: Any, tensor: Tensor) -> Any:
        ctx.process_set = process_set
        received, counts = _start_alltoall(tensor, splits, name, process_set, False).wait()
        ctx.counts = counts.tolist()
        ctx.mark_non_differentiable(counts)
        return received, counts

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Any) -> Any:
        sent, _ = _Alltoall.apply(ctx.counts, None, ctx.process_set, g)
        return None, None, None, sent


def alltoall(
    tensor: Tensor,
    splits: Any = None,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """The rows that the ranks have for this one, behind each other.

    `splits` says how many rows are for which rank (None: as many for each); where it is given, the
    result comes with a tensor that says how many rows came from which rank.
    """
    numbers = _splits_of(tensor, splits, process_set.group().size())
    received, counts = _Alltoall.apply(numbers, name, process_set, tensor)
    return received if splits is None else (received, counts)


def alltoall_async(
    tensor: Tensor,
    splits: Any = None,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """`alltoall` in the background: the handle for `synchronize`."""
    return enlist(_start_alltoall(tensor, splits, name, process_set, True))


# Reduce-scatter


def _shares(rows: int, size: int) -> list[int]:
    """How many rows each rank gets; the first ones get one more where that is needed."""
    return [rows // size + (rank < rows % size) for rank in range(size)]


def _reduce_scatter(comm: Any, row: np.ndarray, shape: Sequence[int], op: Reduction) -> Any:
    width = int(np.prod(shape[1:]))
    counts = _shares(shape[0], comm.size)
    ends = np.cumsum([0, *counts]) * width
    step = RedOpType.AVG if op is Average else RedOpType.SUM
    pieces = [row[a:b] for a, b in pairwise(ends)]
    if len(set(counts)) == 1:
        output = np.empty(counts[0] * width, row.dtype)
        schedules.reduce_scatter(comm, output, pieces, step)
    else:
        total = row.copy()
        schedules.all_reduce(comm, total, step)
        output = total[ends[comm.rank] : ends[comm.rank + 1]].copy()
    return output.reshape(counts[comm.rank], *shape[1:])


def _start_reducescatter(
    tensors: Sequence[Tensor],
    name: str | None,
    op: Any,
    factors: tuple[float, float],
    process_set: ProcessSet,
    async_op: bool,
) -> Handle:
    if op not in (Average, Sum):
        raise ValueError(f"reducescatter(): op={op!r}; expected hvd.Average or hvd.Sum")
    for tensor in tensors:
        if tensor.ndim == 0:
            raise ValueError("reducescatter(): a tensor without dimensions; expected at least one")
    rows = [np.array(tensor._array, order="C").reshape(-1) for tensor in tensors]
    shapes = [tuple(tensor._array.shape) for tensor in tensors]
    outputs: list[Tensor] = []

    def algorithm(comm: Any, requests: Any) -> None:
        for row, shape in zip(rows, shapes, strict=True):
            scale(row, factors[0])
            output = _reduce_scatter(comm, row, shape, Reduction(op))
            scale(output, factors[1])
            outputs.append(wrap(output))

    own = request("reducescatter", name, tensors, op=Reduction(op).name)
    return start(own, process_set, algorithm, lambda: outputs, (), async_op)


class _Reducescatter(Function):
    @staticmethod
    def forward(ctx: Any, name: Any, op: Any, factors: Any, process_set: Any, *tensors: Any) -> Any:
        ctx.op, ctx.factors, ctx.process_set = op, factors, process_set
        return tuple(_start_reducescatter(tensors, name, op, factors, process_set, False).wait())

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        factor = ctx.factors[0] * ctx.factors[1]
        if ctx.op == Sum:
            factor *= ctx.process_set.size()
        gathered = grouped_allgather([g * factor for g in gs], process_set=ctx.process_set)
        return None, None, None, None, *gathered


def reducescatter(
    tensor: Tensor,
    name: str | None = None,
    compression: Any = Compression.none,
    op: Any = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Tensor:
    """This rank's rows of the average, or sum, of the tensors of all ranks."""
    return grouped_reducescatter(
        [tensor], name, compression, op, process_set, prescale_factor, postscale_factor
    )[0]


def grouped_reducescatter(
    tensors: Sequence[Tensor],
    name: str | None = None,
    compression: Any = Compression.none,
    op: Any = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[Tensor]:
    """`reducescatter` of several tensors, in one collective."""
    smaller, contexts = zip(*map(compression.compress, tensors), strict=True)
    factors = prescale_factor, postscale_factor
    pieces = _Reducescatter.apply(name, op, factors, process_set, *smaller)
    return list(map(compression.decompress, pieces, contexts))


def reducescatter_async(
    tensor: Tensor,
    name: str | None = None,
    op: Any = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> int:
    """`reducescatter` in the background: the handle for `synchronize`."""
    factors = prescale_factor, postscale_factor
    handle = _start_reducescatter([tensor], name, op, factors, process_set, True)
    pieces = handle.result
    handle.result = lambda: pieces()[0]
    return enlist(handle)


def grouped_reducescatter_async(
    tensors: Sequence[Tensor],
    name: str | None = None,
    op: Any = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> int:
    """`grouped_reducescatter` in the background: the handle for `synchronize`."""
    factors = prescale_factor, postscale_factor
    return enlist(_start_reducescatter(tensors, name, op, factors, process_set, True))


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Wait for all ranks."""
    collectives.barrier(process_set.group())


__all__ = [
    "allgather",
    "allgather_async",
    "alltoall",
    "alltoall_async",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "grouped_allgather",
    "grouped_allgather_async",
    "grouped_reducescatter",
    "grouped_reducescatter_async",
    "reducescatter",
    "reducescatter_async",
]
