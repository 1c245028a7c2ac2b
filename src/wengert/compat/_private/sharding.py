"""Types and functions of ``torch.distributed`` that cut tensors and modules over processes.

Packages import them beside what works here, and ask with `isinstance`. Making one raises
RuntimeError.
"""

from __future__ import annotations

from wengert.compat._private.process_groups import _NoInstances, _refusing
from wengert.distributed.device_mesh import DeviceMesh, init_device_mesh


class DTensor(_NoInstances):
    """The type of no tensor: none is cut."""


class Placement(_NoInstances):
    """How a tensor is cut."""


class Shard(Placement):
    """Cut along a dimension."""


class Replicate(Placement):
    """Whole in each process."""


class Partial(Placement):
    """To be added up."""


class FSDPModule(_NoInstances):
    """The type of no module: none is cut."""


class FullyShardedDataParallel(_NoInstances):
    """The type of no module: none is cut."""


class MixedPrecisionPolicy(_NoInstances):
    """Which precision pieces of a module have."""


class ZeroRedundancyOptimizer(_NoInstances):
    """The type of no optimizer: none has its state cut."""


distribute_tensor = _refusing("tensor.distribute_tensor")
distribute_module = _refusing("tensor.distribute_module")
fully_shard = _refusing("fsdp.fully_shard")
implicit_replication = _refusing("tensor.experimental.implicit_replication")

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
