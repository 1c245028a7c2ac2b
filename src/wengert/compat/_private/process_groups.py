"""Names of ``torch.distributed`` that packages use beside those of its documentation."""

from __future__ import annotations

from typing import Any

from wengert.distributed import ReduceOp as reduce_op  # noqa: N813 (PyTorch's older name)
from wengert.distributed import (
    all_gather_into_tensor as _all_gather_base,
)
from wengert.distributed import (
    reduce_scatter_tensor as _reduce_scatter_base,
)
from wengert.distributed.process_group import ProcessGroup as ProcessGroupGloo
from wengert.distributed.world import GroupMember
from wengert.distributed.world import default_group as _get_default_group
from wengert.platform.absences import Absent, refusing


def _rank_not_in_group(group: ProcessGroupGloo | int | None) -> bool:
    """Whether `group` is what `new_group` gives to ranks outside; None is the group of all."""
    return isinstance(group, int) and group == GroupMember.NON_GROUP_MEMBER


class MissingType(Absent):
    """A type that `wengert.distributed` lacks: making an instance raises RuntimeError."""

    @staticmethod
    def _refusal(name: str) -> Exception:
        return RuntimeError(_missing(name))


def missing_function(name: str) -> Any:
    """A function that `wengert.distributed` lacks: calling it raises RuntimeError."""
    return refusing(name, __name__, RuntimeError, _missing(f"{name}()"))


def _missing(name: str) -> str:
    return f"torch.distributed.{name}: wengert does not have it"


__all__ = [
    "ProcessGroupGloo",
    "_all_gather_base",
    "_get_default_group",
    "_rank_not_in_group",
    "_reduce_scatter_base",
    "reduce_op",
]
