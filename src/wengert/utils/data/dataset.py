"""`wengert.data.dataset` under PyTorch's name for it."""

from wengert.data.dataset import *
from wengert.data.dataset import __all__ as __all__
