"""Process sets: some of the ranks, which call collectives among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import distributed
from wengert.distributed.process_group import ProcessGroup

NOT_INITIALIZED = "Horovod has not been initialized; use hvd.init()."


class ProcessSet:
    """Some of the ranks.

    >>> from wengert.horovod.common.process_sets import ProcessSet
    >>> ProcessSet([0, 2]).ranks
    [0, 2]
    """

    process_set_id: int | None = None
    _group: Any = None

    def __init__(self, ranks_or_comm: Sequence[int]) -> None:
        self.ranks: list[int] | None = sorted(int(rank) for rank in ranks_or_comm)
        if len(set(self.ranks)) != len(self.ranks):
            raise ValueError(f"ProcessSet: ranks {self.ranks} contain duplicates")

    def size(self) -> int | None:
        """How many ranks it has; None before it has been added."""
        return None if self.process_set_id is None else len(self.ranks or ())

    def rank(self) -> int | None:
        """The rank of this process within it; None outside of it, and before it has been added."""
        return self._group.rank() if isinstance(self._group, ProcessGroup) else None

    def included(self) -> bool | None:
        """Whether this process is in it; None before it has been added."""
        return None if self.process_set_id is None else isinstance(self._group, ProcessGroup)

    def group(self) -> ProcessGroup:
        """The group that runs its collectives; ValueError unless this process is in it."""
        if self.process_set_id is None:
            raise ValueError(
                NOT_INITIALIZED
                if self is global_process_set
                else f"{self} has not been added: use hvd.add_process_set()"
            )
        if not isinstance(self._group, ProcessGroup):
            raise ValueError(f"rank {distributed.get_rank()} is not part of {self}")
        return self._group

    def join_group(self, identifier: int, group: Any) -> None:
        """Let a group run the collectives."""
        self.process_set_id, self._group = identifier, group

    def leave_group(self) -> None:
        """Forget the group."""
        self.process_set_id, self._group = None, None

    def __str__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"


global_process_set = ProcessSet([])
_added: dict[int, ProcessSet] = {}


def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Let some of the ranks call collectives. All ranks have to call this.

    ValueError if there is a process set of these ranks.
    """
    global_process_set.group()
    added = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    if any(other.ranks == added.ranks for other in [global_process_set, *_added.values()]):
        raise ValueError(f"A process set with ranks {added.ranks} already exists")
    identifier = max(_added, default=0) + 1
    added.join_group(identifier, distributed.new_group(added.ranks))
    _added[identifier] = added
    return added


def remove_process_set(process_set: ProcessSet) -> bool:
    """Undo `add_process_set`, on all ranks; False if it was not added."""
    if process_set is global_process_set or process_set.process_set_id not in _added:
        return False
    del _added[process_set.process_set_id]
    if process_set.included():
        distributed.destroy_process_group(process_set.group())
    process_set.leave_group()
    return True


def remove_all() -> None:
    """Forget all process sets."""
    for added in [*_added.values(), global_process_set]:
        added.leave_group()
    _added.clear()


__all__ = ["ProcessSet", "add_process_set", "global_process_set", "remove_process_set"]
