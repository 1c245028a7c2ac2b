"""``torch.distributed.optim``: optimizers whose state is shared out among the ranks."""

from wengert.distributed.optim.zero_redundancy_optimizer import (
    ZeroRedundancyOptimizer as ZeroRedundancyOptimizer,
)
