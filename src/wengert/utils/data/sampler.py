"""`wengert.data.sampler` under PyTorch's name for it."""

from wengert.data.sampler import *
from wengert.data.sampler import __all__ as __all__
