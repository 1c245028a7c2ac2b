"""Messages between two ranks of a group, matched by sender and tag.

A rank that sends connects to the receiver, where a thread reads whatever arrives: senders never
wait for each other. Messages that nobody has asked for yet wait in memory.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.distributed._communicator import Communicator
from wengert.distributed._endpoint import Endpoint, call, holders
from wengert.distributed.errors import DistBackendError
from wengert.distributed.tcp_store import receive_exactly

_HEAD = struct.Struct("<qQ16s")  # tag, bytes, dtype


class Receipt:
    """A message that is waited for."""

    def __init__(self, source: int | None, tag: int) -> None:
        self.source, self.tag = source, tag
        self.data: np.ndarray | None = None
        self.dtype = ""


class Mailbox:
    """The messages of a rank in a group, coming and going."""

    def __init__(self, communicator: Communicator, endpoint: Endpoint) -> None:
        self._communicator, self._endpoint = communicator, endpoint
        self._changed = threading.Condition()
        self._awaited: list[Receipt] = []
        self._arrived: deque[Receipt] = deque()
        self._connections: dict[int, socket.socket] = {}
        self._incoming: list[socket.socket] = []
        self._lost: set[int] = set()
        self._senders: dict[int, _Sender] = {}
        endpoint.open_mailbox(communicator.key, self._listen)
        holders.add(self)

    def _listen(self, connection: socket.socket, rank: int) -> None:
        self._incoming.append(connection)
        threading.Thread(
            target=self._read, args=(connection, rank), daemon=True, name=f"messages {rank}"
        ).start()

    def _read(self, connection: socket.socket, rank: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                tag, size, dtype = _HEAD.unpack(receive_exactly(connection, _HEAD.size))
                message = Receipt(rank, tag)
                data = np.empty(size, np.uint8)
                unread = data.data
                while unread:
                    count = connection.recv_into(unread)
                    if not count:
                        raise ConnectionError("closed within a message")
                    unread = unread[count:]
                message.data, message.dtype = data, dtype.rstrip(b"\0").decode()
                self._deliver(message)
        with self._changed:
            self._lost.add(rank)
            self._changed.notify_all()

    def _deliver(self, message: Receipt) -> None:
        with self._changed:
            for receipt in self._awaited:
                if receipt.tag == message.tag and receipt.source in (None, message.source):
                    receipt.source, receipt.data = message.source, message.data
                    receipt.dtype = message.dtype
                    self._awaited.remove(receipt)
                    break
            else:
                self._arrived.append(message)
            self._changed.notify_all()

    def expect(self, source: int | None, tag: int) -> Receipt:
        """Ask for the next message with a tag, of one rank or (None) of any."""
        with self._changed:
            for message in self._arrived:
                if message.tag == tag and source in (None, message.source):
                    self._arrived.remove(message)
                    return message
            receipt = Receipt(source, tag)
            self._awaited.append(receipt)
            return receipt

    def arrived(self, receipt: Receipt) -> bool:
        """Whether a message is there."""
        with self._changed:
            return receipt.data is not None

    def wait(self, receipt: Receipt, label: str, seconds: float) -> None:
        """Wait for a message; DistBackendError if it does not come, or its sender is gone."""
        ranks = self._communicator.ranks
        with self._changed:
            ended = self._changed.wait_for(
                lambda: receipt.data is not None or receipt.source in self._lost, seconds
            )
        if receipt.data is not None:
            return
        sender = "any rank" if receipt.source is None else f"rank {ranks[receipt.source]}"
        if ended:
            raise DistBackendError(f"{label}: {sender} is gone and sent no such message")
        raise DistBackendError(
            f"{label}: no message from {sender} with tag {receipt.tag} within {seconds:g} s"
        )

    def send(self, rank: int, tag: int, data: np.ndarray, label: str) -> None:
        """Send a message, whether or not it is asked for yet."""
        try:
            connection = self._connections.get(rank)
            if connection is None:
                comm = self._communicator
                purpose = "messages", comm.key, comm.rank
                connection = self._connections[rank] = call(
                    comm.address_of(rank), self._endpoint.token, purpose, comm.seconds
                )
            connection.sendall(_HEAD.pack(tag, data.nbytes, data.dtype.name.encode()))
            connection.sendall(data.view(np.uint8).data)
        except OSError:
            raise DistBackendError(
                f"{label}: rank {self._communicator.ranks[rank]} is gone"
            ) from None

    def post(self, rank: int, send: Callable[[], None], finish: Callable[..., Any]) -> None:
        """Send in the background, behind what is being sent to that rank."""
        if rank not in self._senders:
            self._senders[rank] = _Sender()
        self._senders[rank].post(send, finish)

    def flush(self, rank: int) -> None:
        """Wait until all that was posted to a rank is sent."""
        if rank in self._senders:
            self._senders[rank].flush()

    def close_descriptors(self) -> None:
        """Close the sockets without a word to the other side."""
        for connection in (*self._connections.values(), *self._incoming):
            connection.close()

    def close(self) -> None:
        """Hang up."""
        for sender in self._senders.values():
            sender.stop()
        for connection in self._incoming:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._endpoint.mailboxes.pop(self._communicator.key, None)
        self.close_descriptors()


class _Sender:
    """Sends to one rank in the background, one message after the other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[tuple[Callable[[], None], Callable[..., Any]]] = deque()
        self._busy = self._stopped = False
        threading.Thread(target=self._work_off, daemon=True, name="sender").start()

    def post(self, send: Callable[[], None], finish: Callable[..., Any]) -> None:
        """Send something after what was posted before."""
        with self._changed:
            self._jobs.append((send, finish))
            self._changed.notify_all()

    def _work_off(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._jobs or self._stopped)
                if self._stopped:
                    return
                send, finish = self._jobs.popleft()
                self._busy = True
            error: BaseException | None = None
            try:
                send()
            except BaseException as raised:
                error = raised
            finish(error)

    def flush(self) -> None:
        """Wait until everything is sent."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not (self._jobs or self._busy))

    def stop(self) -> None:
        """End the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


__all__ = ["Mailbox", "Receipt"]
