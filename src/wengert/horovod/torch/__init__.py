"""``horovod.torch``: Horovod's names for data parallelism.

Collectives (`reductions.py`, `exchanges.py`) begin with the ranks telling each other what they ask
for (`negotiation.py`). `optimizer.py` averages gradients.
"""

from wengert.horovod.torch import elastic as elastic
from wengert.horovod.torch.compression import Compression as Compression
from wengert.horovod.torch.functions import *
from wengert.horovod.torch.mpi_ops import *
from wengert.horovod.torch.optimizer import DistributedOptimizer as DistributedOptimizer
from wengert.horovod.torch.sync_batch_norm import SyncBatchNorm as SyncBatchNorm
