"""``torch.distributed._functional_collectives``: collectives that return new tensors.

Those of `distributed.nn.functional` in other words; they return when they are done.
"""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.nn import functional
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp
from wengert.ops import cat
from wengert.platform.absences import Absent

Ranks = ProcessGroup | DeviceMesh


class AsyncCollectiveTensor(Absent):
    """The type of no tensor: none is still on its way."""


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, whose values are there."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Ranks, tag: str = "") -> Tensor:  # noqa: N803
    """The sum, or what `reduceOp` names, of all ranks' tensors."""
    return functional.all_reduce(self, getattr(ReduceOp, reduceOp.upper()), _group(group))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Ranks, tag: str = "") -> Tensor:
    """All ranks' tensors, joined along a dimension."""
    return cat(functional.all_gather(self, _group(group)), gather_dim)


def all_to_all_single(
    self: Tensor,
    output_split_sizes: list[int] | None,
    input_split_sizes: list[int] | None,
    group: Ranks,
    tag: str = "",
) -> Tensor:
    """The rows that all ranks send to this one; the sizes say how many each sends and gets."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = self.new_empty((rows, *self.shape[1:]))
    sizes = output_split_sizes, input_split_sizes
    return functional.all_to_all_single(output, self, *sizes, _group(group))


def _group(group: Ranks) -> ProcessGroup:
    return group.get_group() if isinstance(group, DeviceMesh) else group


all_gather_tensor_autograd = all_gather_tensor
all_to_all_single_autograd = all_to_all_single

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "wait_tensor",
]
