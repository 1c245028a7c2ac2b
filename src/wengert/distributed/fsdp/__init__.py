"""``torch.distributed.fsdp``: modules of whose parameters each rank holds some rows."""

from wengert.distributed.fsdp import api as api
from wengert.distributed.fsdp import wrap as wrap
from wengert.distributed.fsdp.api import BackwardPrefetch as BackwardPrefetch
from wengert.distributed.fsdp.api import CPUOffload as CPUOffload
from wengert.distributed.fsdp.api import FullOptimStateDictConfig as FullOptimStateDictConfig
from wengert.distributed.fsdp.api import FullStateDictConfig as FullStateDictConfig
from wengert.distributed.fsdp.api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from wengert.distributed.fsdp.api import LocalStateDictConfig as LocalStateDictConfig
from wengert.distributed.fsdp.api import MixedPrecision as MixedPrecision
from wengert.distributed.fsdp.api import OptimStateDictConfig as OptimStateDictConfig
from wengert.distributed.fsdp.api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from wengert.distributed.fsdp.api import ShardedStateDictConfig as ShardedStateDictConfig
from wengert.distributed.fsdp.api import ShardingStrategy as ShardingStrategy
from wengert.distributed.fsdp.api import StateDictConfig as StateDictConfig
from wengert.distributed.fsdp.api import StateDictSettings as StateDictSettings
from wengert.distributed.fsdp.api import StateDictType as StateDictType
from wengert.distributed.fsdp.fully_shard import FSDPModule as FSDPModule
from wengert.distributed.fsdp.fully_shard import UnshardHandle as UnshardHandle
from wengert.distributed.fsdp.fully_shard import fully_shard as fully_shard
from wengert.distributed.fsdp.fully_shard import (
    register_fsdp_forward_method as register_fsdp_forward_method,
)
from wengert.distributed.fsdp.policies import CPUOffloadPolicy as CPUOffloadPolicy
from wengert.distributed.fsdp.policies import MixedPrecisionPolicy as MixedPrecisionPolicy
from wengert.distributed.fsdp.policies import OffloadPolicy as OffloadPolicy
from wengert.distributed.fsdp.wrapper import FullyShardedDataParallel as FullyShardedDataParallel
from wengert.distributed.tensor.dtensor import DTensor as DTensor
