"""`wengert.data.worker` under PyTorch's name for it."""

from wengert.data.worker import *
from wengert.data.worker import __all__ as __all__
