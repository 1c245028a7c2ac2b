"""What programs ask about groups, and settings that they make."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.reduce_op import ReduceOp
from wengert.distributed.world import get_backend, world_groups


class DebugLevel(Enum):
    """How much is checked. All of it always is: each collective is compared across ranks."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class BuiltinCommHookType(Enum):
    """Communication hooks that have a number."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2


class _Settings:
    level = DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Set what `get_debug_level` says.

    >>> import wengert.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    _Settings.level = level


def get_debug_level() -> DebugLevel:
    """What `set_debug_level` set.

    >>> import wengert.distributed as dist
    >>> dist.get_debug_level()
    <DebugLevel.OFF: 0>
    """
    return _Settings.level


def set_debug_level_from_env() -> None:
    """Set what TORCH_DISTRIBUTED_DEBUG says.

    >>> import wengert.distributed as dist
    >>> dist.set_debug_level_from_env()
    """
    _Settings.level = DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()]


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of a group for each kind of device.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_backend_config()
    'cpu:gloo'
    >>> dist.destroy_process_group()
    """
    return f"cpu:{get_backend(group)}"


def get_default_backend_for_device(device: Any) -> str:
    """The one there is.

    >>> import wengert.distributed as dist
    >>> dist.get_default_backend_for_device("cpu")
    'gloo'
    """
    return "gloo"


def get_pg_count() -> int:
    """How many groups this rank is in.

    >>> import wengert.distributed as dist
    >>> dist.get_pg_count()
    0
    """
    return len(world_groups())


def supports_complex(reduceOp: ReduceOp) -> bool:  # noqa: N803 (PyTorch's name)
    """Whether an operation reduces complex numbers.

    >>> import wengert.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.MAX)
    False
    """
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.PREMUL_SUM)


__all__ = [
    "BuiltinCommHookType",
    "DebugLevel",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_pg_count",
    "set_debug_level",
    "set_debug_level_from_env",
    "supports_complex",
]
