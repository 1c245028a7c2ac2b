"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from wengert.autograd.profiling.recording import exchange_event
from wengert.core import storage
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, caller, getframe
from wengert.distributed._communicator import Site
from wengert.distributed._mailbox import Mailbox
from wengert.distributed.arguments import check_tensor, flat_in, root_of
from wengert.distributed.observers import observed_time, tell_exchange, tell_wait
from wengert.distributed.process_group import ProcessGroup, Work
from wengert.distributed.world import default_group, group_of

Group = ProcessGroup | None


def _mailbox(group: ProcessGroup, name: str) -> Mailbox:
    if group.mailbox is None:
        raise RuntimeError(
            f"{name}(): the group has one rank, and nobody to exchange messages with"
        )
    return group.mailbox


def _peer(
    name: str, group: ProcessGroup, rank: int | None, group_rank: int | None, role: str
) -> int:
    peer = root_of(name, group, rank, group_rank)
    if peer == group.rank():
        # As PyTorch with gloo: `send` looks at its argument, the others fail later.
        error = ValueError if name == "send" else RuntimeError
        raise error(
            f"Invalid {role} rank: {role} rank should not be the same as the rank of the current"
            " process."
        )
    return peer


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Send a tensor to rank `dst`, in the background; it must not change before `wait`.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> try:
    ...     dist.isend(wengert.ones(2), dst=0)
    ... except (ValueError, RuntimeError) as error:
    ...     print("to itself")
    to itself
    >>> dist.destroy_process_group()
    """
    check_tensor("isend", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    peer = _peer("isend", chosen, dst, group_dst, "destination")
    mailbox, row = _mailbox(chosen, "isend"), flat_in(tensor)
    site = Site()
    work = Work([tensor])
    with exchange_event(f"{chosen.backend}:send", [tensor]):
        mailbox.post(peer, lambda: _send(mailbox, peer, tag, row, "isend", site), work._finish)
    return work


def _send(mailbox: Mailbox, peer: int, tag: int, row: np.ndarray, name: str, site: Site) -> None:
    begin = observed_time()
    mailbox.send(peer, tag, row, f"{name}, {site}")
    tell_exchange(begin, name, site, "", -1, row.nbytes)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank `dst`; return once it may be written again.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> try:
    ...     dist.send(wengert.ones(2), dst=0)
    ... except (ValueError, RuntimeError) as error:
    ...     print("to itself")
    to itself
    >>> dist.destroy_process_group()
    """
    check_tensor("send", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return
    peer = _peer("send", chosen, dst, group_dst, "destination")
    mailbox = _mailbox(chosen, "send")
    begin, site = observed_time(), Site()
    with exchange_event(f"{chosen.backend}:send", [tensor]):
        mailbox.flush(peer)
        _send(mailbox, peer, tag, flat_in(tensor), "send", site)
    tell_wait(begin)


class _Receiving(Work):
    """A message that is waited for, and the tensor that it goes to."""

    def __init__(self, group: ProcessGroup, tensor: Tensor, source: int | None, tag: int) -> None:
        super().__init__([tensor])
        self._group, self._tensor, self._mailbox = group, tensor, _mailbox(group, "irecv")
        self._label = f"recv, {Site()}"
        self._line = caller(getframe(1))
        storage.before_write(tensor._array)
        self._receipt = self._mailbox.expect(source, tag)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the message."""
        if not self._future.done():
            assert self._group.communicator is not None
            seconds = timeout.total_seconds() if timeout else self._group.communicator.seconds
            begin = observed_time()
            self._mailbox.wait(self._receipt, self._label, seconds)
            tell_wait(begin)
            self._take()
        return super().wait(timeout)

    def is_completed(self) -> bool:
        """Whether the message is there."""
        if not self._future.done() and self._mailbox.arrived(self._receipt):
            self._take()
        return self._future.done()

    def _take(self) -> None:
        receipt, array = self._receipt, self._tensor._array
        assert receipt.data is not None
        assert receipt.source is not None
        self._source = self._group.ranks[receipt.source]
        own = of_numpy[array.dtype].np.name
        if receipt.dtype != own or receipt.data.nbytes != array.nbytes:
            error = RuntimeError(
                f"{self._label}: rank {self._source} sent {receipt.data.nbytes} bytes of"
                f" {receipt.dtype} into a tensor of {array.nbytes} bytes of {own}"
            )
            self._finish(error)
            raise error
        array[...] = receipt.data.view(array.dtype).reshape(array.shape)
        storage.stamp(array, "recv", *self._line)
        self._finish()


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Receive a tensor from rank `src`, or (None) from any; it is there after `wait`.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> try:
    ...     dist.irecv(wengert.ones(2), src=0)
    ... except RuntimeError as error:
    ...     print("from itself")
    from itself
    >>> dist.destroy_process_group()
    """
    check_tensor("irecv", "tensor", tensor)
    chosen = group_of(group)
    if chosen is None:
        return None
    named = src is not None or group_src is not None
    peer = _peer("irecv", chosen, src, group_src, "source") if named else None
    work = _Receiving(chosen, tensor, peer, tag)
    with exchange_event(f"{chosen.backend}:recv{'' if named else 'AnySource'}", [tensor]):
        return work


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from rank `src`, or (None) from any; return the rank that sent it.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> try:
    ...     dist.recv(wengert.ones(2), src=0)
    ... except RuntimeError as error:
    ...     print("from itself")
    from itself
    >>> dist.destroy_process_group()
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One message of `batch_isend_irecv`: `isend` or `irecv`, and what it is called with.

    >>> import wengert, wengert.distributed as dist
    >>> dist.P2POp(dist.isend, wengert.ones(2), peer=1).tag
    0
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or"
                f" ``torch.distributed.irecv``, got {op!r}"
            )
        check_tensor("P2POp", "tensor", tensor)
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        if peer is None and group_peer is None:
            raise ValueError("Must specify global_rank or group_rank")
        self.peer, self.group_peer = peer, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start several messages; return the `Work` of each.

    >>> import wengert.distributed as dist
    >>> try:
    ...     dist.batch_isend_irecv([3])
    ... except ValueError:
    ...     print("P2POp expected")
    P2POp expected
    """
    for entry in p2p_op_list:
        if not isinstance(entry, P2POp):
            raise ValueError(
                f"Invalid ``op``: batch_isend_irecv() takes torch.distributed.P2POp, got {entry!r}"
            )
    default_group()
    works = []
    for entry in p2p_op_list:
        by_group = entry.group_peer if entry.peer is None else None
        work = entry.op(entry.tensor, entry.peer, entry.group, entry.tag, by_group)
        if work is not None:
            works.append(work)
    return works


__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]
