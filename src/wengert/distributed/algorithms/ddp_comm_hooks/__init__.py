"""Communication hooks: how `DistributedDataParallel` reduces a bucket of gradients."""

from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks as default_hooks
from wengert.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD_hook
