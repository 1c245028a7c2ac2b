"""Collectives of Python objects.

Objects travel as `save` writes them, and are read as `load` reads: tensors, plain containers and
what `serialization.add_safe_globals` allows are built, and no code runs. Set
``WENGERT_TRUST_RANKS=1`` where ranks may send each other anything that pickle takes.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from wengert.core.tensor import wrap
from wengert.distributed import schedules
from wengert.distributed.arguments import root_of
from wengert.distributed.messages import recv, send
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import group_of
from wengert.serialization import load, save

Group = ProcessGroup | None

_OBJECT_TAG = -7  # of messages that hold objects


def _trusting() -> bool:
    return os.environ.get("WENGERT_TRUST_RANKS") == "1"


def packed(value: Any) -> bytes:
    """An object as bytes."""
    if _trusting():
        return pickle.dumps(value)
    file = BytesIO()
    save(value, file)
    return file.getvalue()


def unpacked(data: bytes) -> Any:
    """The object of such bytes; UnpicklingError if they ask for more than `load` builds."""
    if _trusting():
        return pickle.loads(data)
    try:
        return load(BytesIO(data))
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(
            "an object that another rank has sent is not tensors and plain containers alone. Allow"
            " its class by torch.serialization.add_safe_globals, or set WENGERT_TRUST_RANKS=1 where"
            f" ranks may send each other anything that pickle takes. ({error})"
        ) from None


def _exchange(
    name: str, group: ProcessGroup, data: bytes, roots: Sequence[int], signature: str = ""
) -> list[bytes]:
    gathered: list[bytes] = []

    def algorithm(comm: Any) -> None:
        gathered.extend(schedules.gather_bytes(comm, data, roots))

    group.run(name, signature, algorithm)
    return gathered


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Copy the object of each rank into `object_list`, on all ranks.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> objects = [None]
    >>> dist.all_gather_object(objects, {"loss": 0.5})
    >>> objects
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        return
    everyone = range(chosen.size())
    gathered = _exchange("all_gather_object", chosen, packed(obj), everyone)
    for rank, data in enumerate(gathered):
        object_list[rank] = unpacked(data)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Copy the object of each rank into `object_gather_list`, which rank `dst` (0) alone gives.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> objects = [None]
    >>> dist.gather_object("a", objects, dst=0)
    >>> objects
    ['a']
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        return
    root = _root("gather_object", chosen, dst, group_dst)
    if chosen.rank() == root and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if chosen.rank() != root and object_gather_list:
        raise ValueError(
            "Argument ``object_gather_list`` must NOT be specified on non-destination ranks."
        )
    gathered = _exchange("gather_object", chosen, packed(obj), [root], f"to rank {root}")
    if object_gather_list is not None and chosen.rank() == root:
        object_gather_list[:] = map(unpacked, gathered)


def _root(name: str, group: ProcessGroup, root: int | None, group_root: int | None) -> int:
    return root_of(name, group, 0 if root is None and group_root is None else root, group_root)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects in the list of rank `src` (0) into those of the others.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> dist.broadcast_object_list(["a", 1], src=0)
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        return
    root = _root("broadcast_object_list", chosen, src, group_src)
    data = packed(list(object_list)) if chosen.rank() == root else b""
    everyone = range(chosen.size())
    signature = f"{len(object_list)} objects from rank {root}"
    gathered = _exchange("broadcast_object_list", chosen, data, everyone, signature)
    if chosen.rank() != root:
        object_list[:] = unpacked(gathered[root])


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Copy one object of the list of rank `src` (0) into element 0 of each rank's list.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> outputs = [None]
    >>> dist.scatter_object_list(outputs, ["a"], src=0)
    >>> outputs
    ['a']
    >>> dist.destroy_process_group()
    """
    chosen = group_of(group)
    if chosen is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    root = _root("scatter_object_list", chosen, src, group_src)
    data = b""
    if chosen.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != chosen.size():
            raise ValueError(
                "source rank must provide non-None scatter_object_input_list, with an object for"
                f" each of the {chosen.size()} ranks"
            )
        data = packed(list(scatter_object_input_list))
    everyone = range(chosen.size())
    gathered = _exchange("scatter_object_list", chosen, data, everyone, f"from rank {root}")
    objects = scatter_object_input_list if chosen.rank() == root else unpacked(gathered[root])
    assert objects is not None
    scatter_object_output_list[0] = objects[chosen.rank()]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to rank `dst`.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> try:
    ...     dist.send_object_list(["a"], dst=0)
    ... except ValueError as error:
    ...     print("to itself")
    to itself
    >>> dist.destroy_process_group()
    """
    data = np.frombuffer(packed(list(object_list)), np.uint8)
    send(wrap(np.array([data.size])), dst, group, _OBJECT_TAG, group_dst)
    send(wrap(data), dst, group, _OBJECT_TAG, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects from rank `src`, or (None) from any; return the rank that sent them.

    >>> import wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> try:
    ...     dist.recv_object_list([None], src=0)
    ... except RuntimeError as error:
    ...     print(error)
    Invalid source rank: source rank should not be the same as the rank of the current process.
    >>> dist.destroy_process_group()
    """
    size = wrap(np.zeros(1, np.int64))
    sender = recv(size, src, group, _OBJECT_TAG, group_src)
    if sender < 0:
        return -1
    data = wrap(np.empty(int(size._array[0]), np.uint8))
    recv(data, sender, group, _OBJECT_TAG)
    object_list[:] = unpacked(data._array.tobytes())
    return sender


__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]
