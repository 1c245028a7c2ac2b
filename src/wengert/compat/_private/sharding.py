"""Types and functions of ``torch.distributed`` that cut tensors and modules over processes.

Packages import them beside what works here, and ask with `isinstance`. Making one raises
RuntimeError.
"""

from __future__ import annotations

from wengert.compat._private.process_groups import Unshared, of_several
from wengert.distributed.device_mesh import DeviceMesh, init_device_mesh


class DTensor(Unshared):
    """The type of no tensor: none is cut."""


class Placement(Unshared):
    """How a tensor is cut."""


class Shard(Placement):
    """Cut along a dimension."""


class Replicate(Placement):
    """Whole in each process."""


class Partial(Placement):
    """To be added up."""


class FSDPModule(Unshared):
    """The type of no module: none is cut."""


class FullyShardedDataParallel(Unshared):
    """The type of no module: none is cut."""


class MixedPrecisionPolicy(Unshared):
    """Which precision pieces of a module have."""


class ZeroRedundancyOptimizer(Unshared):
    """The type of no optimizer: none has its state cut."""


distribute_tensor = of_several("tensor.distribute_tensor")
distribute_module = of_several("tensor.distribute_module")
fully_shard = of_several("fsdp.fully_shard")
implicit_replication = of_several("tensor.experimental.implicit_replication")

__all__ = [
    "DTensor",
    "DeviceMesh",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "ZeroRedundancyOptimizer",
    "distribute_module",
    "distribute_tensor",
    "fully_shard",
    "implicit_replication",
    "init_device_mesh",
]
