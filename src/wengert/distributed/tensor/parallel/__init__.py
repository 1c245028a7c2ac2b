"""``torch.distributed.tensor.parallel``: layers whose matrices the ranks share out."""

from wengert.distributed.tensor.parallel.plans import parallelize_module as parallelize_module
from wengert.distributed.tensor.parallel.styles import ColwiseParallel as ColwiseParallel
from wengert.distributed.tensor.parallel.styles import ParallelStyle as ParallelStyle
from wengert.distributed.tensor.parallel.styles import PrepareModuleInput as PrepareModuleInput
from wengert.distributed.tensor.parallel.styles import (
    PrepareModuleInputOutput as PrepareModuleInputOutput,
)
from wengert.distributed.tensor.parallel.styles import PrepareModuleOutput as PrepareModuleOutput
from wengert.distributed.tensor.parallel.styles import RowwiseParallel as RowwiseParallel
from wengert.distributed.tensor.parallel.styles import SequenceParallel as SequenceParallel
