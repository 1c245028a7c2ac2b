"""Communication hooks: how `DistributedDataParallel` reduces a bucket of gradients."""

from wengert.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging_hooks
from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks as default_hooks
from wengert.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_localSGD_hook
from wengert.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD_hook
