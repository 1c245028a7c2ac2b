"""`wengert.data.dataloader` under PyTorch's name for it."""

from wengert.data.dataloader import *
from wengert.data.dataloader import __all__ as __all__
