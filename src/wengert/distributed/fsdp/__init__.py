"""``torch.distributed.fsdp``: modules of whose parameters each rank holds some rows."""

from wengert.distributed.fsdp.dtensor import DTensor as DTensor
from wengert.distributed.fsdp.fully_shard import CPUOffloadPolicy as CPUOffloadPolicy
from wengert.distributed.fsdp.fully_shard import FSDPModule as FSDPModule
from wengert.distributed.fsdp.fully_shard import MixedPrecisionPolicy as MixedPrecisionPolicy
from wengert.distributed.fsdp.fully_shard import OffloadPolicy as OffloadPolicy
from wengert.distributed.fsdp.fully_shard import fully_shard as fully_shard
from wengert.distributed.fsdp.wrapper import FullyShardedDataParallel as FullyShardedDataParallel
from wengert.distributed.fsdp.wrapper import ShardingStrategy as ShardingStrategy
