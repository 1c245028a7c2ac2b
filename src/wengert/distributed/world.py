"""The group of all ranks, and groups of some of them."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from wengert.distributed import schedules
from wengert.distributed._communicator import Communicator, tell_of_exceptions
from wengert.distributed._endpoint import TOKEN_BYTES, Endpoint
from wengert.distributed._mailbox import Mailbox
from wengert.distributed.backend import Backend, checked_backend
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.rendezvous import rendezvous
from wengert.distributed.store import HashStore, PrefixStore, Store
from wengert.platform.settings import get_num_threads, set_num_threads

default_pg_timeout = timedelta(minutes=30)

NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class _World:
    """The groups of this process, and what it takes to make them."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.store: Store | None = None  # of the run
        self.owned: Store | None = None  # to be closed with the world
        self.endpoint: Endpoint | None = None
        self.timeout = default_pg_timeout
        self.count = 0  # of the groups that all ranks have created
        self.undo: Any = None


_world = _World()
_generation = 0  # how many worlds this process has had: their keys in a store differ


class _Named(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 (PyTorch's name)
        """The group of all ranks; None before `init_process_group`."""
        return _world.default

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:  # noqa: N802
        _world.default = group


class group(metaclass=_Named):  # noqa: N801 (PyTorch's name)
    """``group.WORLD``: the group of all ranks.

    >>> import wengert.distributed as dist
    >>> dist.group.WORLD is None
    True
    """


class GroupMember(metaclass=_Named):
    """``GroupMember.WORLD``, and what `new_group` returns to a rank outside of the group.

    >>> import wengert.distributed as dist
    >>> dist.GroupMember.NON_GROUP_MEMBER
    -100
    """

    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """True: `init_process_group` works.

    >>> import wengert.distributed
    >>> wengert.distributed.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether there is a group of all ranks.

    >>> import wengert.distributed
    >>> wengert.distributed.is_initialized()
    False
    """
    return _world.default is not None


def is_torchelastic_launched() -> bool:
    """Whether ``wengert run --nproc`` (or ``torchrun``) started this process.

    >>> import wengert.distributed
    >>> wengert.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: Any = None,
) -> None:
    """Meet the other ranks, and make the group of all.

    Args:
        backend: "gloo", "mpi" or None, which mean the same: links of the library's own.
        init_method: where the ranks meet: ``env://`` (the default), ``tcp://host:port`` or
            ``file:///path``.
        timeout: how long a collective waits for the other ranks; 30 minutes.
        world_size: the number of ranks, unless the environment or the URL says it.
        rank: that of this process.
        store: where the ranks meet, instead of `init_method`.
        group_name: without effect.
        pg_options: without effect.
        device_id: without effect.

    ValueError if there is a group already, or if rank or world size are missing.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    global _generation
    _check_arguments(init_method, store, timeout)
    chosen = checked_backend(backend)
    limit = timeout or default_pg_timeout
    owned = None
    if store is None:
        method = init_method or "env://"
        owned, rank, world_size = next(rendezvous(method, rank, world_size, timeout=limit))
        store = owned
    if not 0 <= rank < world_size:
        raise ValueError(
            f"init_process_group(): rank {rank} of world_size {world_size}: expected 0 <= rank <"
            " world_size, given as arguments, in the URL or in the environment"
        )
    _generation += 1
    _world.store = PrefixStore(f"world{_generation}", store)
    _world.timeout, _world.owned = limit, owned
    try:
        _world.default = _meet(world_size, rank, chosen)
    except BaseException:
        _leave()
        raise
    _divide_threads(_world.default.neighbours)
    _world.undo = tell_of_exceptions(
        lambda: [g.communicator for g in _world.groups.values() if g.communicator is not None]
    )


@contextlib.contextmanager
def uncounted_if_it_fails() -> Iterator[None]:
    """Let the next attempt be at the world that could not be made: other ranks wait for that."""
    global _generation
    before = _generation
    try:
        yield
    except BaseException:
        _generation = before
        raise


def _check_arguments(init_method: Any, store: Any, timeout: Any) -> None:
    if _world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}"
        )


def _meet(size: int, rank: int, backend: str) -> ProcessGroup:
    store = _world.store
    assert store is not None
    if size > 1:
        if rank == 0:
            store.set("token", secrets.token_bytes(TOKEN_BYTES))
        _world.endpoint = Endpoint(_host_of(store), store.get("token"))
        store.set(f"address/{rank}", _world.endpoint.address())
    return _make_group("0", range(size), rank, backend, _world.timeout)


def _host_of(store: Store) -> str:
    """Where a store is: the network that leads there leads to the other ranks."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return getattr(store, "host", "127.0.0.1")


def _make_group(
    name: str,
    ranks: Sequence[int],
    rank: int,
    backend: str,
    timeout: timedelta,
    description: str = "",
) -> ProcessGroup:
    created = ProcessGroup(name, ranks, rank, backend, description)
    store = _world.store
    created.store = PrefixStore(f"group{name}", store or HashStore())
    if len(ranks) > 1:
        assert _world.endpoint is not None
        assert store is not None
        seconds = timeout.total_seconds()
        key = f"{_generation}/{name}"
        comm = created.communicator = Communicator(key, ranks, rank, _world.endpoint, seconds)
        comm.connect(store)
        created.mailbox = Mailbox(comm, _world.endpoint)
        created.neighbours = comm.neighbours()
        # From here on no rank needs the store, which may end with the first that leaves.
        created.run("init_process_group" if name == "0" else "new_group", "", schedules.barrier)
    _world.groups[name] = created
    return created


def _divide_threads(ranks: int) -> None:
    """Share the cores among the ranks of a machine, unless the number of threads was set."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if ranks > 1 and "OMP_NUM_THREADS" not in os.environ and get_num_threads() == cores:
        set_num_threads(max(1, cores // ranks))


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group, or (None) all of them. AssertionError if there is none.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if isinstance(group, int):  # outside of it
        return
    chosen = _world.default if group is None else group
    if chosen is None:
        raise AssertionError("Process group cannot be None")
    if chosen is _world.default:
        _leave()
    elif _world.groups.pop(chosen.group_name, None) is None:
        raise ValueError("Invalid process group specified")
    else:
        chosen.shutdown()


def _leave() -> None:
    for member in _world.groups.values():
        member.shutdown()
    if _world.endpoint is not None:
        _world.endpoint.close()
    if _world.owned is not None:
        with contextlib.suppress(OSError):
            _world.owned.close()
    if _world.undo is not None:
        _world.undo()
    _world.__init__()  # type: ignore[misc]


@atexit.register
def _leave_at_exit() -> None:
    if _world.default is not None:
        _leave()


def world_groups() -> list[ProcessGroup]:
    """The groups that this rank is in."""
    return list(_world.groups.values())


def default_group() -> ProcessGroup:
    """The group of all ranks; ValueError if there is none."""
    if _world.default is None:
        raise ValueError(NOT_INITIALIZED)
    return _world.default


def group_of(group: Any) -> ProcessGroup | None:
    """The group that an argument names; None if this rank is not in it."""
    if group is None:
        return default_group()
    if isinstance(group, int):  # what `new_group` returns to ranks outside
        default_group()
        if group == GroupMember.NON_GROUP_MEMBER:
            return None
    if not isinstance(group, ProcessGroup):
        raise ValueError(
            f"Group {group} is not registered, please create group with"
            " torch.distributed.new_group API"
        )
    return group


def get_rank(group: ProcessGroup | None = None) -> int:
    """The rank of this process in a group; -1 if it is not in it.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    return -1 if chosen is None else chosen.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of ranks in a group; -1 if this rank is not in it.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    return -1 if chosen is None else chosen.size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of a group's backend.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        raise ValueError("Invalid process group specified")
    return Backend(chosen.backend)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in a group.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_process_group_ranks(None)
    [0]
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    return [] if chosen is None else list(chosen.ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank within a group of a rank of all; ValueError if it is not in it.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None or global_rank not in chosen.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return chosen.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all of a rank within a group; ValueError if there is none.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None or not 0 <= group_rank < chosen.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return chosen.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank among those of this machine, as the launcher says; else `fallback_rank`.

    >>> from wengert.distributed import get_node_local_rank
    >>> get_node_local_rank(0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment: start the script with `wengert run --nproc N`, or"
        " give fallback_rank"
    )


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some ranks. All ranks have to call this, those outside as well.

    Args:
        ranks: the ranks; None means all.
        timeout: how long its collectives wait.
        backend: as for `init_process_group`.
        pg_options: without effect.
        use_local_synchronization: only the ranks inside call.
        group_desc: what its `group_desc` says.
        device_id: without effect.
        sort_ranks: number them in order.

    Returns the group, or `GroupMember.NON_GROUP_MEMBER` outside of it.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()
    """
    world = default_group()
    chosen = world.backend if backend is None else checked_backend(backend)
    members = list(range(world.size())) if ranks is None else [int(rank) for rank in ranks]
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    for rank in members:
        if not 0 <= rank < world.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1}"
                f" (world_size={world.size()})"
            )
    members = sorted(members) if sort_ranks else members
    name = _next_name(members, use_local_synchronization)
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    limit = timeout or _world.timeout
    return _make_group(name, members, members.index(world.rank()), chosen, limit, group_desc or "")


def _next_name(members: list[int], locally: bool) -> str:
    if not locally:
        _world.count += 1
        return str(_world.count)
    digest = hashlib.sha1(repr(members).encode()).hexdigest()[:12]
    number = sum(name.startswith(digest) for name in _world.groups)
    return f"{digest}_{number}"


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Cut all ranks into groups of equal size; return this rank's, and all of them.

    `group_size` is the number of ranks of a machine if it is None.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.new_subgroups(1)[0].size()
    1
    >>> dist.destroy_process_group()
    """
    world = default_group()
    size = world.neighbours if group_size is None else group_size
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if world.size() < size:
        raise ValueError(f"The arg 'group_size' ({size}) must not exceed the world size")
    if world.size() % size:
        raise ValueError(
            f"The world size ({world.size()}) must be divisible by 'group_size={size}'"
        )
    subgroups = [list(range(start, start + size)) for start in range(0, world.size(), size)]
    return new_subgroups_by_enumeration(subgroups, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make several groups without common ranks; return this rank's (or None), and all of them.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> len(dist.new_subgroups_by_enumeration([[0]])[1])
    1
    >>> dist.destroy_process_group()
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    flat = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(flat)) != len(flat):
        raise ValueError(f"Rank {max(flat, key=flat.count)} has appeared in several subgroups")
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    own = next((g for g in groups if isinstance(g, ProcessGroup)), None)
    return own, groups


__all__ = [
    "GroupMember",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_initialized",
    "is_torchelastic_launched",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
]
