"""Many processes: ``torch.distributed``.

Ranks meet through a store (`rendezvous.py`, `store.py`, `tcp_store.py`), then connect to each
other (`_endpoint.py`, `_links.py`): through shared memory on one machine, TCP between machines. A
collective (`collectives.py`, `objects.py`) is an algorithm (`schedules.py`) on flat arrays: a
sequence of rounds, in each of which every rank has something for the others. `_communicator.py`
numbers collectives, sees that all ranks called the same, and says which rank is missing.
`process_group.py` runs them, in the caller's thread or behind it. Messages (`messages.py`,
`_mailbox.py`) have connections of their own. `world.py` holds the groups.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.distributed import algorithms as algorithms
from wengert.distributed import batch_statistics as batch_statistics
from wengert.distributed import data_parallel as data_parallel
from wengert.distributed import elastic as elastic
from wengert.distributed import nn as nn
from wengert.distributed._reducer import GradBucket as GradBucket
from wengert.distributed.backend import Backend as Backend
from wengert.distributed.backend import is_backend_available as is_backend_available
from wengert.distributed.backend import is_gloo_available as is_gloo_available
from wengert.distributed.backend import is_mpi_available as is_mpi_available
from wengert.distributed.backend import is_nccl_available as is_nccl_available
from wengert.distributed.backend import is_ucc_available as is_ucc_available
from wengert.distributed.backend import is_xccl_available as is_xccl_available
from wengert.distributed.collectives import *
from wengert.distributed.device_mesh import *
from wengert.distributed.errors import *
from wengert.distributed.group_methods import *
from wengert.distributed.messages import *
from wengert.distributed.objects import *
from wengert.distributed.process_group import ProcessGroup as ProcessGroup
from wengert.distributed.process_group import Work as Work
from wengert.distributed.queries import *
from wengert.distributed.reduce_op import ReduceOp as ReduceOp
from wengert.distributed.rendezvous import *
from wengert.distributed.store import FileStore as FileStore
from wengert.distributed.store import HashStore as HashStore
from wengert.distributed.store import PrefixStore as PrefixStore
from wengert.distributed.store import Store as Store
from wengert.distributed.tcp_store import TCPStore as TCPStore
from wengert.distributed.world import *


def __getattr__(name: str) -> _Any:
    if name in ("checkpoint", "fsdp", "optim"):  # loaded on first access
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
