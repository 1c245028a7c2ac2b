"""``torch.distributed.checkpoint``: a folder into which each rank writes what it holds.

Rows are in safetensors files, one for each rank; ``metadata.json`` says where which rows are. A
checkpoint is loaded by any number of ranks.
"""

from wengert.distributed.checkpoint import format_utils as format_utils
from wengert.distributed.checkpoint import state_dict as state_dict
from wengert.distributed.checkpoint import stateful as stateful
from wengert.distributed.checkpoint.files import FileSystemReader as FileSystemReader
from wengert.distributed.checkpoint.files import FileSystemWriter as FileSystemWriter
from wengert.distributed.checkpoint.files import async_save as async_save
from wengert.distributed.checkpoint.files import load as load
from wengert.distributed.checkpoint.files import save as save
