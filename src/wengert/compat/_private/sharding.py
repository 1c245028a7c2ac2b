"""Types and functions of ``torch.distributed`` that cut tensors and modules over processes.

What works here is in `distributed.fsdp`. Packages import the rest beside it, and ask with
`isinstance`; making one raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compat._private.process_groups import MissingType, missing_function
from wengert.distributed.device_mesh import DeviceMesh, init_device_mesh
from wengert.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    OffloadPolicy,
    ShardingStrategy,
    fully_shard,
)
from wengert.distributed.tensor import (
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)


class _StridedShard(MissingType):
    """Cut into groups, and each group into pieces."""


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int],
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    skip_offset: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of what this rank has of a tensor that is cut so, and where that begins.

    Both are empty on a rank outside the mesh; where there is nothing it begins at the end.
    """
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return (), ()
    shape, offset = list(global_shape), [0] * len(global_shape)
    for placement, size, rank in zip(placements, mesh.shape, coordinate, strict=True):
        if isinstance(placement, Shard):
            dim = placement.dim
            shape[dim], begin = placement.local_shard_size_and_offset(shape[dim], size, rank)
            offset[dim] = begin if shape[dim] else global_shape[dim]
    return tuple(shape), () if skip_offset else tuple(offset)


implicit_replication = missing_function("tensor.experimental.implicit_replication")

__all__ = [
    "CPUOffloadPolicy",
    "DTensor",
    "DeviceMesh",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "ShardingStrategy",
    "_StridedShard",
    "compute_local_shape_and_global_offset",
    "distribute_module",
    "distribute_tensor",
    "fully_shard",
    "implicit_replication",
    "init_device_mesh",
]
