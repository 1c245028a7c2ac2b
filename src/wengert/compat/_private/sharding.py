"""Types and functions of ``torch.distributed`` that cut tensors and modules over processes.

What works here is in `distributed.fsdp`. Packages import the rest beside it, and ask with
`isinstance`; making one raises RuntimeError.
"""

from __future__ import annotations

from wengert.compat._private.process_groups import MissingType, missing_function
from wengert.distributed.device_mesh import DeviceMesh, init_device_mesh
from wengert.distributed.fsdp import (
    CPUOffloadPolicy,
    DTensor,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    OffloadPolicy,
    ShardingStrategy,
    fully_shard,
)
from wengert.distributed.fsdp.dtensor import Shard


class Placement(MissingType):
    """How a tensor is cut."""


class Replicate(Placement):
    """Whole in each process."""


class Partial(Placement):
    """To be added up."""


distribute_tensor = missing_function("tensor.distribute_tensor")
distribute_module = missing_function("tensor.distribute_module")
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
    "distribute_module",
    "distribute_tensor",
    "fully_shard",
    "implicit_replication",
    "init_device_mesh",
]
