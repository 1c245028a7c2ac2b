"""`wengert.data` under PyTorch's name for it."""

from wengert.data import *
from wengert.data import __all__ as __all__
from wengert.utils.data import collate as collate
from wengert.utils.data import dataloader as dataloader
from wengert.utils.data import dataset as dataset
from wengert.utils.data import distributed as distributed
from wengert.utils.data import sampler as sampler
from wengert.utils.data import worker as worker
