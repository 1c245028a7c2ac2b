"""Links from a rank to each of the others in a group, and rounds of exchange over them.

In a round, every rank tells every other what it has for it, and gets as much. Bytes for ranks of
the same machine are written into shared memory once, and read from there; bytes for others
follow over TCP. What a rank wrote in one round stays readable until the round after next: to take
part in the next one, all must be done with this one.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import socket
import struct
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from wengert.distributed._endpoint import holders
from wengert.distributed.tcp_store import receive_exactly

_HEAD = struct.Struct("<BBHQI")  # kind, pieces, bytes of text, number of the collective, round
_PIECE = struct.Struct("<QQ")  # offset and bytes
_EXCHANGE, _ABORT = 0, 1
_ALIGNMENT = 64
_READ = 1 << 16

# What a rank may write in one round. Memory is written in turn, and there is three times as much:
# writing to lines that another core has just read takes several times as long.
ROUND_BYTES = 1 << 23
_MEMORY_BYTES = 3 * ROUND_BYTES


class LostRankError(Exception):
    """The other side of a link is gone; `text` says what it said of the reason."""

    def __init__(self, rank: int, text: str = "") -> None:
        super().__init__(rank, text)
        self.rank, self.text = rank, text


class LateRankError(Exception):
    """Nothing came over a link in time."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank


class Packet(NamedTuple):
    """What a rank says in a round."""

    number: int
    round: int
    text: bytes
    pieces: list[np.ndarray]


class Memory:
    """What a rank writes for the others: a file without a name that they can map."""

    def __init__(self, file: int | None = None) -> None:
        size = _MEMORY_BYTES
        self.file = _nameless_file(size) if file is None else file
        access = mmap.PROT_READ if file is not None else mmap.PROT_READ | mmap.PROT_WRITE
        self._map = mmap.mmap(self.file, size, mmap.MAP_SHARED, access)
        self.bytes = np.frombuffer(self._map, np.uint8)
        if file is not None:  # the mapping stays
            os.close(file)


def _nameless_file(size: int) -> int:
    if sys.platform == "linux":
        file = os.memfd_create("wengert-group")
    else:
        with tempfile.TemporaryFile() as named:
            file = os.dup(named.fileno())
    os.ftruncate(file, size)
    return file


class Link:
    """The connection to one rank."""

    def __init__(self, rank: int, connection: socket.socket, near: bool) -> None:
        self.rank, self.socket, self.near = rank, connection, near
        self.memory: Memory | None = None  # what that rank wrote
        self.heard = ""  # the last collective that it said it was in
        self._buffer = bytearray()
        self._partial: tuple[Packet, np.ndarray, int] | None = None
        holders.add(self)

    def send_memory(self, own: Memory) -> None:
        """Let that rank read the memory of this one."""
        socket.send_fds(self.socket, [b"m"], [own.file])

    def receive_memory(self) -> None:
        """Map the memory of that rank."""
        _, files, _, _ = socket.recv_fds(self.socket, 1, 1)
        if not files:
            raise LostRankError(self.rank)
        self.memory = Memory(files[0])

    def close_descriptors(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _parsed(self) -> tuple[Any, ...] | None:
        """Kind, sizes and text of the frame at the front of the buffer, if it is complete."""
        buffer = self._buffer
        if len(buffer) < _HEAD.size:
            return None
        kind, pieces, length, number, round_ = _HEAD.unpack_from(buffer)
        start = _HEAD.size + pieces * _PIECE.size
        if len(buffer) < start + length:
            return None
        spans = [_PIECE.unpack_from(buffer, _HEAD.size + k * _PIECE.size) for k in range(pieces)]
        text = bytes(buffer[start : start + length])
        del buffer[: start + length]
        if kind == _ABORT:
            raise LostRankError(self.rank, text.decode())
        return number, round_, text, spans

    def receive(self) -> Packet:
        """The next frame of a rank of this machine."""
        while (head := self._parsed()) is None:
            self._read()
        number, round_, text, spans = head
        assert self.memory is not None
        memory = self.memory.bytes
        return Packet(number, round_, text, [memory[at : at + size] for at, size in spans])

    def drain(self) -> NoReturn:
        """Raise LostRankError for a rank that has hung up: it may have said why."""
        while True:
            self.receive()

    def _read(self) -> None:
        try:
            data = self.socket.recv(_READ)
        except TimeoutError:
            raise LateRankError(self.rank) from None
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise LostRankError(self.rank)
        self._buffer += data

    def receive_some(self) -> Packet | None:
        """Read what a rank of another machine has sent; its frame once that is complete."""
        if self._partial is None:
            if (head := self._parsed()) is None:
                self._read()
                if (head := self._parsed()) is None:
                    return None
            number, round_, text, spans = head
            ends = np.cumsum([0, *(size for _, size in spans)])
            data = np.empty(int(ends[-1]), np.uint8)
            pieces = [data[a:b] for a, b in pairwise(ends)]
            early = min(len(self._buffer), data.size)
            data[:early] = self._buffer[:early]
            del self._buffer[:early]
            self._partial = Packet(number, round_, text, pieces), data, early
        frame, data, filled = self._partial
        if filled < data.size:
            with contextlib.suppress(BlockingIOError):
                count = self.socket.recv_into(data[filled:].data)
                if not count:
                    raise LostRankError(self.rank)
                filled += count
        self._partial = None if filled == data.size else (frame, data, filled)
        return frame if self._partial is None else None

    def abort(self, text: str) -> None:
        """Tell that rank why nothing will follow, as far as that is possible."""
        reason = text.encode()[:4096]
        with contextlib.suppress(OSError):
            self.socket.settimeout(0.5)
            self.socket.sendall(_HEAD.pack(_ABORT, 0, len(reason), 0, 0) + reason)


class Links:
    """The links of a rank in a group, and its own memory."""

    def __init__(self, rank: int, size: int, seconds: float) -> None:
        self.rank, self.size = rank, size
        self.by_rank: dict[int, Link] = {}
        self._near: list[Link] = []
        self._far: list[Link] = []
        self._memory: Memory | None = None
        self._seconds = seconds
        self._next = 0  # where in the memory the next round writes

    def connect(self, links: Iterable[Link]) -> None:
        """Take on the links, and share memory with those of this machine."""
        self.by_rank = {link.rank: link for link in links}
        for link in self.by_rank.values():
            (self._near if link.near else self._far).append(link)
        if self._near:
            self._share_memory()
        for link in self._far:
            link.socket.setblocking(False)

    def _share_memory(self) -> None:
        self._memory = Memory()
        try:
            for link in self._near:
                link.socket.settimeout(self._seconds)
                link.send_memory(self._memory)
        finally:
            os.close(self._memory.file)  # the mapping stays, and the others have files of their own
        for link in self._near:
            link.receive_memory()

    def exchange(
        self,
        number: int,
        round_: int,
        text: bytes,
        outgoing: Sequence[tuple[int | None, np.ndarray]],
        seconds: float,
    ) -> dict[int, Packet]:
        """One round: send arrays, each to a rank or (None) to all; return what the others sent."""
        if seconds != self._seconds:
            self._seconds = seconds
            for link in self._near:
                link.socket.settimeout(seconds)
        spans = self._write(outgoing)
        head = number, round_
        for link in self._near:
            self._send(link, _frame(*head, text, [s for to, s in spans if to in (None, link.rank)]))
        frames = self._exchange_far(head, text, outgoing) if self._far else {}
        for link in self._near:
            frames[link.rank] = link.receive()
        return frames

    def _write(
        self, outgoing: Sequence[tuple[int | None, np.ndarray]]
    ) -> list[tuple[int | None, tuple[int, int]]]:
        """Copy arrays into memory, behind those of the last round; return to whom, and where."""
        spans: list[tuple[int | None, tuple[int, int]]] = []
        if self._memory is None or not outgoing:
            return spans
        need = sum([-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for _, array in outgoing])
        assert need <= ROUND_BYTES
        at = 0 if self._next + need > _MEMORY_BYTES else self._next
        self._next = at + need
        for to, array in outgoing:
            data = array.view(np.uint8)
            self._memory.bytes[at : at + data.size] = data
            spans.append((to, (at, data.size)))
            at += -(-data.size // _ALIGNMENT) * _ALIGNMENT
        return spans

    def _send(self, link: Link, frame: bytes) -> None:
        try:
            link.socket.sendall(frame)
        except OSError:
            link.drain()

    def _exchange_far(
        self, head: tuple[int, int], text: bytes, outgoing: Sequence[tuple[int | None, np.ndarray]]
    ) -> dict[int, Packet]:
        """The round with ranks of other machines: send and receive as the network allows."""
        frames: dict[int, Packet] = {}
        unsent: dict[Link, list[memoryview]] = {}
        with selectors.DefaultSelector() as selector:
            for link in self._far:
                arrays = [a.view(np.uint8) for to, a in outgoing if to in (None, link.rank)]
                frame = _frame(*head, text, [(0, a.size) for a in arrays])
                unsent[link] = [memoryview(frame), *(a.data for a in arrays if a.size)]
                both = selectors.EVENT_READ | selectors.EVENT_WRITE
                selector.register(link.socket, both, link)
                if link._buffer:
                    self._advance(selector, link, frames, unsent)
            while selector.get_map():
                events = selector.select(self._seconds)
                if not events:
                    raise LateRankError(min(link.rank for link in self._far
                                            if link.rank not in frames))  # fmt: skip
                for key, mask in events:
                    if mask & selectors.EVENT_WRITE:
                        _send_some(key.data, unsent[key.data])
                    if mask & selectors.EVENT_READ:
                        frame_ = key.data.receive_some()
                        if frame_ is not None:
                            frames[key.data.rank] = frame_
                    _update(selector, key.data, unsent[key.data], key.data.rank in frames)
        return frames

    def _advance(self, selector: Any, link: Link, frames: dict[int, Packet], unsent: Any) -> None:
        frame = link.receive_some()
        if frame is not None:
            frames[link.rank] = frame
            _update(selector, link, unsent[link], True)

    def abort(self, text: str) -> None:
        """Tell all ranks why nothing will follow, and hang up."""
        for link in self.by_rank.values():
            link.abort(text)
        self.close()

    def close(self) -> None:
        """Hang up."""
        for link in self.by_rank.values():
            link.socket.close()


def _frame(number: int, round_: int, text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    pieces = b"".join([_PIECE.pack(at, size) for at, size in spans])
    return _HEAD.pack(_EXCHANGE, len(spans), len(text), number, round_) + pieces + text


def _send_some(link: Link, unsent: list[memoryview]) -> None:
    while unsent:
        try:
            count = link.socket.send(unsent[0])
        except BlockingIOError:
            return
        except OSError:
            raise LostRankError(link.rank) from None
        if count < len(unsent[0]):
            unsent[0] = unsent[0][count:]
            return
        unsent.pop(0)


def _update(selector: Any, link: Link, unsent: list[memoryview], received: bool) -> None:
    """Wait for what is still to do with a link."""
    events = (selectors.EVENT_WRITE if unsent else 0) | (0 if received else selectors.EVENT_READ)
    if events:
        selector.modify(link.socket, events, link)
    else:
        selector.unregister(link.socket)


__all__ = ["Link", "Links", "receive_exactly"]
