"""Collectives: calls that all ranks of a group make together.

With ``async_op=True`` they return a `Work` at once; else None, when they are done. A rank outside
of the group returns at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor
from wengert.distributed import schedules
from wengert.distributed.arguments import (
    FlatOutput,
    check_list,
    check_tensor,
    check_tensors,
    flat_in,
    root_of,
    signature_of,
    with_outputs,
)
from wengert.distributed.errors import DistBackendError
from wengert.distributed.process_group import ProcessGroup, Work
from wengert.distributed.reduce_op import RedOpType, check_reduction
from wengert.distributed.sparse_sums import reduce_sparse
from wengert.distributed.world import group_of

SUM = RedOpType.SUM
Group = ProcessGroup | None


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of rank `src` into those of the others (`group_src`: a rank of the group).

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.broadcast(wengert.ones(2), src=0)
    >>> dist.destroy_process_group()
    """
    check_tensor("broadcast", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    root = root_of("broadcast", chosen, src, group_src)
    signature = signature_of(tensor._array, f"from rank {chosen.ranks[root]}")
    algorithm = with_outputs([tensor], lambda comm, row: schedules.broadcast(comm, row, root))
    return chosen.run("broadcast", signature, algorithm, [tensor], async_op)


def all_reduce(
    tensor: Tensor, op: RedOpType = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks, into each of them; sparse ones in COO are summed.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> x = wengert.ones(2)
    >>> dist.all_reduce(x, op=dist.ReduceOp.AVG)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    check_tensor("all_reduce", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    if isinstance(tensor, SparseTensor):
        return reduce_sparse("all_reduce", tensor, op, chosen, async_op)
    check_reduction("all_reduce", op, tensor._array.dtype)
    signature = signature_of(tensor._array, op.name)
    algorithm = with_outputs([tensor], lambda comm, row: schedules.all_reduce(comm, row, op))
    return chosen.run("all_reduce", signature, algorithm, [tensor], async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: RedOpType = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors of one dtype.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.all_reduce_coalesced([wengert.ones(2), wengert.ones(3)])
    >>> dist.destroy_process_group()
    """
    values = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensors("all_reduce_coalesced", "tensors", values)
    chosen = group_of(group)
    if chosen is None:
        return None
    for value in values:
        check_reduction("all_reduce_coalesced", op, value._array.dtype)

    def reduce_rows(comm: Any, *rows: np.ndarray) -> None:
        for row in rows:
            schedules.all_reduce(comm, row, op)

    signature = "; ".join(signature_of(value._array, op.name) for value in values)
    algorithm = with_outputs(values, reduce_rows)
    return chosen.run("all_reduce_coalesced", signature, algorithm, values, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: RedOpType = SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks into that of rank `dst`; the others keep theirs.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.reduce(wengert.ones(2), dst=0)
    >>> dist.destroy_process_group()
    """
    check_tensor("reduce", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    check_reduction("reduce", op, tensor._array.dtype)
    root = root_of("reduce", chosen, dst, group_dst)
    signature = signature_of(tensor._array, op.name, f"to rank {chosen.ranks[root]}")
    algorithm = with_outputs([tensor], lambda comm, row: schedules.reduce(comm, row, root, op))
    written = [tensor] if chosen.rank() == root else []
    return chosen.run("reduce", signature, algorithm, written, async_op, given=[tensor])


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Copy the tensor of each rank into one of `tensor_list`, on all ranks.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> outputs = [wengert.zeros(2)]
    >>> dist.all_gather(outputs, wengert.ones(2))
    >>> outputs
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    check_tensors("all_gather", "tensor_list", tensor_list)
    check_tensor("all_gather", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    check_list("all_gather", "tensor_list", tensor_list, tensor, chosen.size())
    row = flat_in(tensor)
    algorithm = with_outputs(
        tensor_list, lambda comm, *outputs: schedules.all_gather(comm, outputs, row)
    )
    signature = signature_of(tensor._array)
    return chosen.run("all_gather", signature, algorithm, tensor_list, async_op, given=[tensor])


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`all_gather` of several tensors: ``output_tensor_lists[rank][i]``.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.all_gather_coalesced([[wengert.zeros(2)]], [wengert.ones(2)])
    >>> dist.destroy_process_group()
    """
    name = "all_gather_coalesced"
    check_tensors(name, "input_tensor_list", input_tensor_list)
    for tensors in output_tensor_lists:
        check_tensors(name, "output_tensor_lists", tensors)
        if len(tensors) != len(input_tensor_list):
            raise RuntimeError(
                f"{name}(): a list of `output_tensor_lists` has {len(tensors)} tensors, expected"
                f" {len(input_tensor_list)}, as `input_tensor_list` has"
            )
    chosen = group_of(group)
    if chosen is None:
        return None
    columns = [[tensors[i] for tensors in output_tensor_lists]
               for i in range(len(input_tensor_list))]  # fmt: skip
    for outputs, tensor in zip(columns, input_tensor_list, strict=True):
        check_list(name, "output_tensor_lists", outputs, tensor, chosen.size())
    rows, size = [flat_in(tensor) for tensor in input_tensor_list], chosen.size()

    def gather_rows(comm: Any, *outputs: np.ndarray) -> None:
        for i, row in enumerate(rows):
            schedules.all_gather(comm, list(outputs[i * size : (i + 1) * size]), row)

    written = [output for outputs in columns for output in outputs]
    signature = "; ".join(signature_of(tensor._array) for tensor in input_tensor_list)
    return chosen.run(
        name, signature, with_outputs(written, gather_rows), written, async_op,
        given=input_tensor_list,
    )  # fmt: skip


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Copy the tensor of each rank into one, behind or on top of each other, on all ranks.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.all_gather_into_tensor(wengert.zeros(2), wengert.ones(2))
    >>> dist.destroy_process_group()
    """
    check_tensor("all_gather_into_tensor", "input_tensor", input_tensor)
    check_tensor("all_gather_into_tensor", "output_tensor", output_tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    _check_parts("all_gather_into_tensor", output_tensor, input_tensor, chosen.size())
    row, size = flat_in(input_tensor), chosen.size()

    def gather_rows(comm: Any, output: np.ndarray) -> None:
        schedules.all_gather(comm, list(output.reshape(size, -1)), row)

    signature = signature_of(input_tensor._array)
    algorithm = with_outputs([output_tensor], gather_rows)
    return chosen.run(
        "all_gather_into_tensor", signature, algorithm, [output_tensor], async_op,
        given=[input_tensor],
    )  # fmt: skip


def _check_parts(name: str, gathered: Tensor, own: Tensor, size: int) -> None:
    if gathered.dtype != own.dtype:
        raise RuntimeError(
            f"{name}(): invalid tensor type: the tensor for all ranks has {gathered.dtype}, the one"
            f" for a rank {own.dtype}"
        )
    if gathered.numel() != size * own.numel():
        raise RuntimeError(
            f"{name}(): the tensor for all {size} ranks has shape {tuple(gathered.shape)}, the one"
            f" for a rank {tuple(own.shape)}: expected {size} times as many elements"
        )


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy the tensor of each rank into one of `gather_list`, which rank `dst` (0) alone gives.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.gather(wengert.ones(2), [wengert.zeros(2)], dst=0)
    >>> dist.destroy_process_group()
    """
    check_tensor("gather", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    root = root_of("gather", chosen, _first(dst, group_dst), group_dst)
    outputs = gather_list or []
    if chosen.rank() == root:
        if not outputs:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        check_tensors("gather", "gather_list", outputs)
        check_list("gather", "gather_list", outputs, tensor, chosen.size())
    elif outputs:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    row = flat_in(tensor)
    algorithm = with_outputs(
        outputs, lambda comm, *rows: schedules.gather(comm, rows or None, row, root)
    )
    signature = signature_of(tensor._array, f"to rank {chosen.ranks[root]}")
    return chosen.run("gather", signature, algorithm, outputs, async_op, given=[tensor])


def _first(root: int | None, group_root: int | None) -> int | None:
    """Rank 0 where no root is named."""
    return 0 if root is None and group_root is None else root


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy one of `scatter_list`, which rank `src` (0) alone gives, into each rank's tensor.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.scatter(wengert.zeros(2), [wengert.ones(2)], src=0)
    >>> dist.destroy_process_group()
    """
    check_tensor("scatter", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    root = root_of("scatter", chosen, _first(src, group_src), group_src)
    inputs = None
    if chosen.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        check_tensors("scatter", "scatter_list", scatter_list)
        check_list("scatter", "scatter_list", scatter_list, tensor, chosen.size())
        inputs = list(map(flat_in, scatter_list))
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    algorithm = with_outputs([tensor], lambda comm, row: schedules.scatter(comm, row, inputs, root))
    signature = signature_of(tensor._array, f"from rank {chosen.ranks[root]}")
    return chosen.run("scatter", signature, algorithm, [tensor], async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: RedOpType = SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce what all ranks have in `input_list` for a rank, into that rank's `output`.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.reduce_scatter(wengert.zeros(2), [wengert.ones(2)])
    >>> dist.destroy_process_group()
    """
    check_tensor("reduce_scatter", "output", output)
    check_tensors("reduce_scatter", "input_list", input_list)
    chosen = group_of(group)
    if chosen is None:
        return None
    check_list("reduce_scatter", "input_list", input_list, output, chosen.size())
    return _reduce_scatter("reduce_scatter", output, list(map(flat_in, input_list)), op, chosen,
                           async_op)  # fmt: skip


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: RedOpType = SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`reduce_scatter`, with what is for the ranks behind or on top of each other in one tensor.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.reduce_scatter_tensor(wengert.zeros(2), wengert.ones(2))
    >>> dist.destroy_process_group()
    """
    check_tensor("reduce_scatter_tensor", "output", output)
    check_tensor("reduce_scatter_tensor", "input", input)
    chosen = group_of(group)
    if chosen is None:
        return None
    _check_parts("reduce_scatter_tensor", input, output, chosen.size())
    rows = list(flat_in(input).reshape(chosen.size(), -1))
    return _reduce_scatter("reduce_scatter_tensor", output, rows, op, chosen, async_op)


def _reduce_scatter(
    name: str,
    output: Tensor,
    rows: list[np.ndarray],
    op: RedOpType,
    group: ProcessGroup,
    async_op: bool,
) -> Work | None:
    check_reduction(name, op, output._array.dtype)
    algorithm = with_outputs(
        [output], lambda comm, row: schedules.reduce_scatter(comm, row, rows, op)
    )
    signature = signature_of(output._array, op.name)
    return group.run(name, signature, algorithm, [output], async_op)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Copy tensor j of rank i into output i of rank j. Shapes may differ between pairs.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.all_to_all([wengert.zeros(2)], [wengert.ones(2)])
    >>> dist.destroy_process_group()
    """
    check_tensors("all_to_all", "output_tensor_list", output_tensor_list)
    check_tensors("all_to_all", "input_tensor_list", input_tensor_list)
    chosen = group_of(group)
    if chosen is None:
        return None
    for argument, tensors in (
        ("output_tensor_list", output_tensor_list),
        ("input_tensor_list", input_tensor_list),
    ):
        if len(tensors) != chosen.size():
            raise RuntimeError(
                f"all_to_all(): `{argument}` has {len(tensors)} tensors, expected one for each of"
                f" the {chosen.size()} ranks"
            )
    _check_one_dtype("all_to_all", [*output_tensor_list, *input_tensor_list])
    inputs = list(map(flat_in, input_tensor_list))
    algorithm = with_outputs(
        output_tensor_list, lambda comm, *rows: schedules.all_to_all(comm, rows, inputs)
    )
    signature = str(input_tensor_list[0].dtype)
    return chosen.run(
        "all_to_all", signature, algorithm, output_tensor_list, async_op, given=input_tensor_list
    )


def _check_one_dtype(name: str, tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        if tensor.dtype != tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes: {name}() found {tensor.dtype} and"
                f" {tensors[0].dtype}"
            )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`all_to_all`, with what goes to the ranks, and comes from them, in one tensor each.

    The sizes say how dimension 0 is split; None means evenly.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.all_to_all_single(wengert.zeros(2), wengert.ones(2))
    >>> dist.destroy_process_group()
    """
    check_tensor("all_to_all_single", "output", output)
    check_tensor("all_to_all_single", "input", input)
    chosen = group_of(group)
    if chosen is None:
        return None
    _check_one_dtype("all_to_all_single", [output, input])
    rows_in = _split("input", flat_in(input), input, input_split_sizes, chosen.size())
    target = FlatOutput(output)
    rows_out = _split("output", target.row, output, output_split_sizes, chosen.size())

    def algorithm(comm: Any) -> None:
        schedules.all_to_all(comm, rows_out, rows_in)
        target.finish()

    return chosen.run(
        "all_to_all_single", str(input.dtype), algorithm, [output], async_op, given=[input]
    )


def _split(
    argument: str, row: np.ndarray, tensor: Tensor, sizes: list[int] | None, ranks: int
) -> list[np.ndarray]:
    length = tensor.shape[0]
    if not sizes:
        if length % ranks:
            raise RuntimeError(
                f"Tensor's dim 0 does not divide equally across group size: all_to_all_single() was"
                f" given {argument} of shape {tuple(tensor.shape)} and {ranks} ranks"
            )
        sizes = [length // ranks] * ranks
    if len(sizes) != ranks:
        raise RuntimeError(
            f"Number of tensor splits not equal to group size: {argument}_split_sizes has"
            f" {len(sizes)}, the group {ranks} ranks"
        )
    if sum(sizes) != length:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size: {argument}_split_sizes add up to"
            f" {sum(sizes)}, {argument} has {length}"
        )
    width = row.size // length if length else 0
    ends = np.cumsum([0, *sizes]) * width
    return [row[a:b] for a, b in pairwise(ends)]


def barrier(
    group: Group = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | float | None = None,
) -> Work | None:
    """Wait for all ranks.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        return None
    return chosen.run("barrier", "", schedules.barrier, (), async_op, _seconds(timeout))


def _seconds(timeout: timedelta | float | None) -> float | None:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else timeout


def monitored_barrier(
    group: Group = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait for all ranks, for so long; RuntimeError names the rank that did not come.

    Args:
        group: the group; None means all ranks.
        timeout: how long to wait.
        wait_all_ranks: without effect.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.monitored_barrier()
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        return
    try:
        chosen.run("monitored_barrier", "", schedules.barrier, (), False, _seconds(timeout))
    except DistBackendError as error:
        if error.rank is None:
            raise
        raise DistBackendError(
            f"Rank {error.rank} failed to pass monitoredBarrier: {error}", error.rank
        ) from None


__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
]
