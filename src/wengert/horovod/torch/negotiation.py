"""Collectives that begin with the ranks telling each other what they ask for.

That is how they learn of sizes that differ, of calls that differ, and of ranks that have joined:
a rank that called `join` takes part in what the others ask for, with nothing to add.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.distributed.process_group import ProcessGroup, Work
from wengert.horovod.common.exceptions import HorovodInternalError
from wengert.horovod.common.process_sets import ProcessSet, global_process_set

Request = dict[str, Any]  # what a rank asks for
# What to do once all ranks have asked, with the requests by rank.
Algorithm = Callable[[Any, list[Request]], None]
Follower = Callable[[Any, list[Request], Request], None]

_followers: dict[str, Follower] = {}  # what a joined rank does, by kind
_handles: dict[int, Handle] = {}
_numbers = count(1)


def follows(kind: str) -> Callable[[Follower], Follower]:
    """Register what a rank that has joined does for a kind of collective."""

    def register(follower: Follower) -> Follower:
        _followers[kind] = follower
        return follower

    return register


class Handle:
    """A collective under way, and the function that makes its result."""

    def __init__(self, result: Callable[[], Any]) -> None:
        self.result = result
        self.work: Work | None = None
        self.disagreement: str | None = None

    def wait(self) -> Any:
        """The result, once it is there."""
        if self.work is not None:
            try:
                self.work.wait()
            except RuntimeError as error:
                raise HorovodInternalError(str(error)) from None
        if self.disagreement is not None:
            raise HorovodInternalError(self.disagreement)
        return self.result()


def request(kind: str, name: str | None, tensors: Sequence[Tensor], **details: Any) -> Request:
    """What a rank asks for."""
    return {
        "kind": kind,
        "name": name,
        "shapes": [list(t._array.shape) for t in tensors],
        "dtypes": [of_numpy[t._array.dtype].name for t in tensors],
        **details,
    }


def start(
    own: Request,
    process_set: ProcessSet,
    algorithm: Algorithm,
    result: Callable[[], Any],
    written: Sequence[Tensor] = (),
    async_op: bool = False,
) -> Handle:
    """Ask for a collective."""
    handle = Handle(result)

    def negotiate(comm: Any) -> None:
        requests = _exchange(comm, own)
        # Every rank sees the same, and none goes on: the group stays whole.
        handle.disagreement = _difference(comm, requests)
        if handle.disagreement is None:
            algorithm(comm, requests)

    group = process_set.group()
    try:
        handle.work = group.run("horovod", "", negotiate, written, async_op)
    except RuntimeError as error:
        raise HorovodInternalError(str(error)) from None
    return handle


def enlist(handle: Handle) -> int:
    """The number of a collective under way."""
    number = next(_numbers)
    _handles[number] = handle
    return number


def poll(handle: int) -> bool:
    """Whether `synchronize` would return at once."""
    if handle not in _handles:
        raise ValueError(f"poll(): no collective under way has the handle {handle}")
    work = _handles[handle].work
    return work is None or work.is_completed()


def synchronize(handle: int) -> Any:
    """Wait for a collective; return what it gives. None if that has been done."""
    return _handles.pop(handle).wait() if handle in _handles else None


def _exchange(comm: Any, own: Request) -> list[Request]:
    data = np.frombuffer(json.dumps(own).encode(), np.uint8)
    received = comm.round([(None, data)])
    return [
        own if rank == comm.rank else json.loads(received[rank][0].tobytes())
        for rank in range(comm.size)
    ]


_FREE_ROWS = ("allgather", "alltoall")  # kinds whose dimension 0 may differ
_JOINABLE = ("allreduce", "allgather")


def _comparable(asked: Request) -> Request:
    rows = asked["kind"] in _FREE_ROWS
    shapes = [["*", *shape[1:]] if rows else shape for shape in asked["shapes"]]
    return {**asked, "shapes": shapes, "splits": None}


def _difference(comm: Any, requests: Sequence[Request]) -> str | None:
    """How the ranks disagree; None if they do not."""
    asking = [(rank, asked) for rank, asked in enumerate(requests) if asked["kind"] != "join"]
    joined = [comm.ranks[rank] for rank, a in enumerate(requests) if a["kind"] == "join"]
    if not asking:
        return None
    first_rank, first = asking[0]
    for rank, asked in asking[1:]:
        if _comparable(asked) != _comparable(first):
            return (
                f"ranks disagree: rank {comm.ranks[first_rank]} called {described(first)}, rank"
                f" {comm.ranks[rank]} called {described(asked)}"
            )
    op = first.get("op")
    if joined and (first["kind"] not in _JOINABLE or op not in (None, "Sum", "Average")):
        return (
            f"{described(first)} is not supported with joined ranks ({joined}): expected"
            " allreduce() of Sum or Average, or allgather()"
        )
    return None


def described(asked: Request) -> str:
    """A request, in words."""
    text = ", ".join(
        f"{dtype}{list(shape)}"
        for dtype, shape in zip(asked["dtypes"], asked["shapes"], strict=True)
    )
    rest = {k: v for k, v in asked.items() if k not in ("kind", "shapes", "dtypes", "splits")}
    return f"{asked['kind']}({text}" + "".join(
        f", {name}={value!r}" for name, value in rest.items() if value is not None
    ) + ")"  # fmt: skip


def join(device: int = -1) -> int:
    """Take part in the other ranks' collectives, with nothing to add, until all have joined.

    Returns the rank that joined last.
    """
    group = global_process_set.group()
    followed = 0
    while True:
        requests = _follow(group, followed)
        if requests is not None:
            waits = [asked["followed"] for asked in requests]
            last = max(rank for rank, n in enumerate(waits) if n == min(waits))
            return group.ranks[last]
        followed += 1


def _follow(group: ProcessGroup, followed: int) -> list[Request] | None:
    """Do what the others ask for; their requests, if all have joined."""
    own: Request = {"kind": "join", "followed": followed}
    answers: list[list[Request]] = []

    def negotiate(comm: Any) -> None:
        requests = _exchange(comm, own)
        asked = next((a for a in requests if a["kind"] != "join"), None)
        if asked is None:
            answers.append(requests)
        elif _difference(comm, requests) is None:
            _followers[asked["kind"]](comm, requests, asked)

    try:
        group.run("horovod", "", negotiate)
    except RuntimeError as error:
        raise HorovodInternalError(str(error)) from None
    return answers[0] if answers else None


__all__ = ["join", "poll", "synchronize"]
