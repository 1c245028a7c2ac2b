"""Collectives as methods of `ProcessGroup`, as hooks and libraries call them.

They take lists of tensors, ranks of the group, and options where the functions take arguments; all
of them return a `Work` at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed import collectives, messages
from wengert.distributed.process_group import ProcessGroup, Work
from wengert.distributed.reduce_op import RedOpType

SUM = RedOpType.SUM


@dataclass
class _Options:
    """What a method of `ProcessGroup` is told besides tensors; what does not apply is ignored."""

    reduceOp: RedOpType = SUM  # noqa: N815 (PyTorch's name)
    rootRank: int = 0  # noqa: N815
    rootTensor: int = 0  # noqa: N815
    timeout: timedelta | None = None
    asyncOp: bool = True  # noqa: N815
    device_ids: Sequence[int] = ()


class AllreduceOptions(_Options):
    """Options of `ProcessGroup.allreduce`: `reduceOp`."""


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of `ProcessGroup.allreduce_coalesced`: `reduceOp`."""


class AllgatherOptions(_Options):
    """Options of `ProcessGroup.allgather`."""


class AllToAllOptions(_Options):
    """Options of `ProcessGroup.alltoall`."""


class BarrierOptions(_Options):
    """Options of `ProcessGroup.barrier`."""


class BroadcastOptions(_Options):
    """Options of `ProcessGroup.broadcast`: `rootRank` and `rootTensor`."""


class GatherOptions(_Options):
    """Options of `ProcessGroup.gather`: `rootRank`."""


class ReduceOptions(_Options):
    """Options of `ProcessGroup.reduce`: `reduceOp`, `rootRank` and `rootTensor`."""


class ReduceScatterOptions(_Options):
    """Options of `ProcessGroup.reduce_scatter`: `reduceOp`."""


class ScatterOptions(_Options):
    """Options of `ProcessGroup.scatter`: `rootRank`."""


def _listed(tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _one(name: str, tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """The one tensor of a list: a process has one device."""
    values = _listed(tensors)
    if len(values) != 1:
        raise ValueError(f"ProcessGroup.{name}: expected one tensor, got {len(values)}")
    return values[0]


def _operation(opts: Any, op: RedOpType) -> RedOpType:
    """The reduction that is meant, by options or by itself."""
    if isinstance(opts, _Options):
        return opts.reduceOp
    return op if opts is None else opts


def _root(opts: Any, root: int) -> int:
    if isinstance(opts, _Options):
        return opts.rootRank
    return root if opts is None else int(opts)


class _Methods:
    """What `ProcessGroup` gets; `self` is one."""

    def allreduce(
        self: Any, tensors: Any, opts: Any = None, *, op: RedOpType = SUM, timeout: Any = None
    ) -> Any:
        """Reduce a tensor of every rank, into each of them; `opts` are options or a reduction."""
        tensor = _one("allreduce", tensors)
        return collectives.all_reduce(tensor, _operation(opts, op), self, True)

    def allreduce_coalesced(self: Any, tensors: Sequence[Tensor], opts: Any = None) -> Any:
        """`allreduce` of several tensors."""
        return collectives.all_reduce_coalesced(_listed(tensors), _operation(opts, SUM), self, True)

    def broadcast(
        self: Any, tensors: Any, opts: Any = None, *, root: int = 0, timeout: Any = None
    ) -> Any:
        """Copy the tensor of a rank into those of the others; `opts` are options or that rank."""
        tensor = _one("broadcast", tensors)
        return collectives.broadcast(tensor, None, self, True, _root(opts, root))

    def reduce(
        self: Any, tensors: Any, opts: Any = None, op: RedOpType = SUM, *, root: int = 0
    ) -> Any:
        """Reduce a tensor of every rank into that of one; `opts` are options or that rank."""
        chosen = opts.reduceOp if isinstance(opts, _Options) else op
        tensor = _one("reduce", tensors)
        return collectives.reduce(tensor, None, chosen, self, True, _root(opts, root))

    def allgather(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """Copy the tensor of each rank into one of a list, on all ranks."""
        outputs = list(output_tensors)
        if outputs and not isinstance(outputs[0], Tensor):
            (outputs,) = outputs
        tensor = _one("allgather", input_tensors)
        return collectives.all_gather(list(outputs), tensor, self, True)

    def allgather_coalesced(
        self: Any, output_lists: Any, input_list: Sequence[Tensor], opts: Any = None
    ) -> Any:
        """`allgather` of several tensors: ``output_lists[rank][i]``."""
        return collectives.all_gather_coalesced(output_lists, list(input_list), self, True)

    def _allgather_base(self: Any, output: Tensor, input: Tensor, opts: Any = None) -> Any:
        """Copy the tensor of each rank into one, on all ranks."""
        return collectives.all_gather_into_tensor(output, input, self, True)

    def gather(
        self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None, *, root: int = 0
    ) -> Any:
        """Copy the tensor of each rank into one of a list that the root has."""
        outputs = list(output_tensors)
        if outputs and not isinstance(outputs[0], Tensor):
            (outputs,) = outputs
        tensor = _one("gather", input_tensors)
        return collectives.gather(tensor, list(outputs), None, self, True, _root(opts, root))

    def scatter(
        self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None, *, root: int = 0
    ) -> Any:
        """Copy one of a list that the root has into the tensor of each rank."""
        inputs = list(input_tensors)
        if inputs and not isinstance(inputs[0], Tensor):
            (inputs,) = inputs
        tensor = _one("scatter", output_tensors)
        return collectives.scatter(tensor, list(inputs), None, self, True, _root(opts, root))

    def reduce_scatter(self: Any, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """Reduce the lists of all ranks, and give each rank one of the results."""
        inputs = list(input_tensors)
        if inputs and not isinstance(inputs[0], Tensor):
            (inputs,) = inputs
        tensor = _one("reduce_scatter", output_tensors)
        return collectives.reduce_scatter(tensor, list(inputs), _operation(opts, SUM), self, True)

    def _reduce_scatter_base(self: Any, output: Tensor, input: Tensor, opts: Any = None) -> Any:
        """Reduce the tensors of all ranks, and give each rank its part."""
        return collectives.reduce_scatter_tensor(output, input, _operation(opts, SUM), self, True)

    def alltoall(
        self: Any, output_tensors: list[Tensor], input_tensors: list[Tensor], opts: Any = None
    ) -> Any:
        """Copy tensor j of rank i into output i of rank j."""
        return collectives.all_to_all(output_tensors, input_tensors, self, True)

    def alltoall_base(
        self: Any, output: Tensor, input: Tensor, output_split_sizes: list[int],
        input_split_sizes: list[int], opts: Any = None,
    ) -> Any:  # fmt: skip
        """`alltoall` with one tensor each, split along dimension 0; no sizes mean evenly."""
        sizes = output_split_sizes or None, input_split_sizes or None
        return collectives.all_to_all_single(output, input, *sizes, self, True)

    def barrier(self: Any, opts: Any = None, *, timeout: timedelta | None = None) -> Any:
        """Wait until all ranks have come here."""
        return collectives.barrier(self, True)

    def monitored_barrier(
        self: Any, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
    ) -> None:
        """Wait until all ranks have come here, for so long; RuntimeError names one that has not."""
        collectives.monitored_barrier(self, timeout, wait_all_ranks)

    def send(self: Any, tensors: Any, dstRank: int, tag: int = 0) -> Work | None:  # noqa: N803
        """Send a tensor to a rank of the group."""
        return messages.isend(_one("send", tensors), None, self, tag, dstRank)

    def recv(self: Any, tensors: Any, srcRank: int, tag: int = 0) -> Work | None:  # noqa: N803
        """Receive a tensor from a rank of the group."""
        return messages.irecv(_one("recv", tensors), None, self, tag, srcRank)

    def recv_anysource(self: Any, tensors: Any, tag: int = 0) -> Work | None:
        """Receive a tensor from whichever rank sends one."""
        return messages.irecv(_one("recv_anysource", tensors), None, self, tag)


for _name, _method in list(vars(_Methods).items()):
    if callable(_method):
        setattr(ProcessGroup, _name, _method)

__all__ = [
    "AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions",
    "BarrierOptions", "BroadcastOptions", "GatherOptions", "ReduceOptions", "ReduceScatterOptions",
    "ScatterOptions",
]  # fmt: skip
