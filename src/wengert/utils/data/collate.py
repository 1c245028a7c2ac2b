"""`wengert.data.collate` under the name of its package in PyTorch."""

from wengert.data.collate import *
from wengert.data.collate import __all__ as __all__
from wengert.data.collate import default_collate_err_msg_format as default_collate_err_msg_format
from wengert.data.collate import default_collate_fn_map as default_collate_fn_map
