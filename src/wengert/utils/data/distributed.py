"""`wengert.data.distributed` under PyTorch's name for it."""

from wengert.data.distributed import *
from wengert.data.distributed import __all__ as __all__
