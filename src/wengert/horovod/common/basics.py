"""Who a rank is: `init`, `rank`, `size` and their kin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

from wengert import distributed
from wengert.distributed.world import uncounted_if_it_fails
from wengert.horovod.common.process_sets import (
    ProcessSet,
    add_process_set,
    global_process_set,
    remove_all,
)

_STARTED = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")  # variables of launchers
_MEETING_SECONDS, _PAUSE = 60.0, 0.05


class _Meeting:
    ours = False  # whether `init` called `init_process_group`


def init(comm: Any = None, process_sets: Sequence[ProcessSet] | str | None = None) -> None:
    """Meet the other ranks: those of the launcher, or none.

    A default group of `torch.distributed` is used as it is.

    Args:
        comm: None: all ranks take part.
        process_sets: those to be added, or ``"dynamic"``.
    """
    if comm is not None:
        raise NotImplementedError(
            f"hvd.init(comm={comm!r}): expected None; all ranks take part. Use"
            " hvd.add_process_set(ranks) for some of them"
        )
    if is_initialized():
        return
    if not distributed.is_initialized():
        if any(name in os.environ for name in _STARTED):
            distributed.init_process_group("gloo")
        else:
            store = distributed.HashStore()
            distributed.init_process_group("gloo", rank=0, world_size=1, store=store)
        _Meeting.ours = True
    group = distributed.group.WORLD
    assert group is not None
    global_process_set.ranks = list(group.ranks)
    global_process_set.join_group(0, group)
    if process_sets is not None and not isinstance(process_sets, str):
        for process_set in process_sets:
            add_process_set(process_set)


def shutdown() -> None:
    """Leave the other ranks."""
    if not is_initialized():
        return
    remove_all()
    if _Meeting.ours and distributed.is_initialized():
        distributed.destroy_process_group()
    _Meeting.ours = False


def meet_again() -> None:
    """Leave the other ranks, who notice at their next collective, and meet them once more.

    A default group that `init` found stays as it is.
    """
    if not _Meeting.ours:
        return
    shutdown()
    end = monotonic() + _MEETING_SECONDS
    while True:
        try:
            with uncounted_if_it_fails():
                init()
            return
        except (distributed.DistError, OSError, EOFError):
            # Rank 0 had not left yet: its store was that of the last meeting.
            if monotonic() > end:
                raise
            sleep(_PAUSE)


def is_initialized() -> bool:
    """Whether `init` has been called, and `shutdown` has not."""
    return global_process_set.process_set_id is not None


def rank() -> int:
    """The number of this process. ValueError before `init`, as for all that follow."""
    return global_process_set.group().rank()


def size() -> int:
    """How many ranks there are."""
    return global_process_set.group().size()


def _launched(variable: str, otherwise: int) -> int:
    global_process_set.group()
    return int(os.environ.get(variable, otherwise))


def local_rank() -> int:
    """The number of this process among those of its machine."""
    return _launched("LOCAL_RANK", rank())


def local_size() -> int:
    """How many ranks this machine has."""
    return global_process_set.group().neighbours


def cross_rank() -> int:
    """The number of this machine."""
    return _launched("GROUP_RANK", rank() // local_size())


def cross_size() -> int:
    """How many machines there are."""
    return _launched("GROUP_WORLD_SIZE", -(-size() // local_size()))


def is_homogeneous() -> bool:
    """Whether all machines have the same number of ranks."""
    return size() == local_size() * cross_size()


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """NotImplementedError: `wengert run --report` shows what a run does."""
    raise NotImplementedError(
        f"hvd.start_timeline({file_path!r}): there is no timeline; use `wengert run --report FILE`"
    )


def stop_timeline() -> None:
    """Nothing: no timeline has been started."""


def gloo_built(verbose: bool = False) -> bool:
    """True: the library's own links stand for gloo."""
    return True


gloo_enabled = gloo_built


def mpi_built(verbose: bool = False) -> bool:
    """False, as for all other engines."""
    return False


mpi_enabled = mpi_threads_supported = mpi_built
ccl_built = cuda_built = ddl_built = nccl_built = rocm_built = mpi_built

__all__ = [
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_homogeneous",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "rocm_built",
    "shutdown",
    "size",
    "start_timeline",
    "stop_timeline",
]
