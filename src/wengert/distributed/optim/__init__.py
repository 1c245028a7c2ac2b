"""``torch.distributed.optim``: shared out among the ranks, or averaged over them."""

from wengert.distributed.optim.post_localSGD_optimizer import (
    PostLocalSGDOptimizer as PostLocalSGDOptimizer,
)
from wengert.distributed.optim.zero_redundancy_optimizer import (
    ZeroRedundancyOptimizer as ZeroRedundancyOptimizer,
)
