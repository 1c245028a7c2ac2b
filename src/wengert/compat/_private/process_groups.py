"""Names of ``torch.distributed`` that programs have in annotations and in branches of their own.

There is one process, and no group: types have no instances, functions refuse as those of
`wengert.distributed` do.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from wengert.platform.absences import Absent, refusing


class RedOpType(Enum):
    """How values of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


ReduceOp = RedOpType


class Backend(str):
    """The name of a way to communicate, in small letters."""

    __slots__ = ()

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    XCCL = "xccl"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name!r}")
        return super().__new__(cls, name.lower())


class Unshared(Absent):
    """A type of what several processes share: making an instance raises RuntimeError."""

    @staticmethod
    def _refusal(name: str) -> Exception:
        return RuntimeError(_alone(name))


class ProcessGroup(Unshared):
    """The type of no group."""


class Work(Unshared):
    """The type of nothing that is under way."""


class P2POp(Unshared):
    """The type of no message."""


class group:  # noqa: N801 (PyTorch's name)
    """The group of all processes: there is none."""

    WORLD = None


class GroupMember:
    """What stands for the group of all processes, and for not being in a group."""

    WORLD = None
    NON_GROUP_MEMBER = -100


def of_several(name: str) -> Any:
    """A function of several processes: it raises RuntimeError."""
    return refusing(name, __name__, RuntimeError, _alone(f"{name}()"))


def _alone(name: str) -> str:
    return (
        f"torch.distributed.{name}: wengert trains in one process; ask"
        " torch.distributed.is_available() first"
    )


_CALLS = (
    *("all_gather_into_tensor", "all_gather_object", "all_to_all", "all_to_all_single"),
    *("batch_isend_irecv", "broadcast_object_list", "gather", "gather_object", "get_global_rank"),
    *("get_group_rank", "get_process_group_ranks", "irecv", "isend", "monitored_barrier", "recv"),
    *("reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send"),
)
globals().update({name: of_several(name) for name in _CALLS})

__all__ = [
    "Backend",
    "GroupMember",
    "P2POp",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "group",
]
__all__ += _CALLS
