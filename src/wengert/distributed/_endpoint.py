"""Where the other ranks reach a process: listening sockets, and who has called there.

Ranks of one machine connect through Unix sockets, over which they also pass each other files of
shared memory; others through TCP. Neither a socket nor shared memory has a name in the file
system on Linux, so nothing is left behind however a process ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from wengert.distributed.errors import DistNetworkError
from wengert.distributed.tcp_store import receive_exactly

TOKEN_BYTES = 16
_HELLO_SECONDS = 5.0  # for a caller to say who it is

Caller = tuple[str, str, int]  # the purpose, the group, the rank in it

# Whatever holds sockets: a forked child closes its copies, or the others would not see this
# process end.
holders: weakref.WeakSet[Any] = weakref.WeakSet()


def _close_in_child() -> None:
    for holder in list(holders):
        holder.close_descriptors()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def machine() -> str:
    """What tells whether two processes can reach each other's Unix sockets."""
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot}:{os.stat('/proc/self/ns/net').st_ino}"
    return socket.gethostname()


def address_towards(host: str) -> str:
    """The address under which another machine sees this one, judged by the route to `host`."""
    if host in ("localhost", "127.0.0.1", "::1"):
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


class Endpoint:
    """The listening sockets of a process, and the connections that others made to it."""

    def __init__(self, master: str, token: bytes) -> None:
        self.token = token
        self.host = address_towards(master)
        self._tcp = socket.create_server((self.host, 0), backlog=1024)
        self._folder: str | None = None
        self._unix = self._unix_listener()
        self._callers: dict[Caller, socket.socket] = {}
        self._changed, self._closed = threading.Condition(), False
        # What answers "where are you?" of another rank, and takes its messages, by group.
        self.status: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self.mailboxes: dict[str, Callable[[socket.socket, int], None]] = {}
        holders.add(self)
        for listener in (self._tcp, self._unix):
            if listener is not None:
                threading.Thread(
                    target=self._accept, args=(listener,), daemon=True, name="endpoint"
                ).start()

    def _unix_listener(self) -> socket.socket | None:
        if not hasattr(socket, "AF_UNIX"):
            return None
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if sys.platform == "linux":
            listener.bind(f"\0wengert-{os.getpid()}-{secrets.token_hex(8)}")
        else:
            self._folder = tempfile.mkdtemp(prefix="wengert-")
            listener.bind(os.path.join(self._folder, "socket"))
        listener.listen(1024)
        return listener

    def address(self) -> bytes:
        """What other ranks need to know to connect."""
        unix = None if self._unix is None else self._unix.getsockname()
        if isinstance(unix, bytes):
            unix = unix.decode()
        port = self._tcp.getsockname()[1]
        entry = {"machine": machine(), "unix": unix, "host": self.host, "port": port}
        return json.dumps({**entry, "pid": os.getpid(), "name": socket.gethostname()}).encode()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                connection.settimeout(_HELLO_SECONDS)
                self._greet(connection)
            except (OSError, ValueError, KeyError):
                connection.close()

    def _greet(self, connection: socket.socket) -> None:
        if not secrets.compare_digest(bytes(receive_exactly(connection, TOKEN_BYTES)), self.token):
            raise ValueError("not of this run")
        length = int.from_bytes(receive_exactly(connection, 4), "little")
        purpose, group, rank = json.loads(receive_exactly(connection, length))
        if purpose == "status":
            holder = self.status.get(group)
            answer = "has left the group" if holder is None else holder.status()
            with connection:
                connection.sendall(answer.encode())
            return
        connection.settimeout(None)
        with self._changed:
            if self._closed:
                raise ConnectionError("nobody takes connections any more")
            mailbox = self.mailboxes.get(group) if purpose == "messages" else None
            if mailbox is None:
                self._callers[purpose, group, rank] = connection
            self._changed.notify_all()
        if mailbox is not None:
            mailbox(connection, rank)

    def open_mailbox(self, group: str, receive: Callable[[socket.socket, int], None]) -> None:
        """Hand connections for messages within a group to a function, with the caller's rank."""
        with self._changed:
            self.mailboxes[group] = receive
            early = [key for key in self._callers if key[:2] == ("messages", group)]
            waiting = [(self._callers.pop(key), key[2]) for key in early]
        for connection, rank in waiting:
            receive(connection, rank)

    def take(self, caller: Caller, seconds: float) -> socket.socket:
        """The connection that a rank makes; DistNetworkError if it does not come in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: caller in self._callers, seconds):
                raise DistNetworkError(
                    f"rank {caller[2]} did not join the group within {seconds:.0f} s"
                )
            return self._callers.pop(caller)

    def close_descriptors(self) -> None:
        """Close the sockets without a word to the other side."""
        for end in (self._tcp, self._unix, *self._callers.values()):
            if end is not None:
                end.close()

    def close(self) -> None:
        """Stop listening."""
        with self._changed:
            self._closed = True  # who is just being greeted is hung up on
        for end in (self._tcp, self._unix):
            if end is not None:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self.close_descriptors()
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, "socket"))
                os.rmdir(self._folder)


def call(address: dict[str, Any], token: bytes, caller: Caller, seconds: float) -> socket.socket:
    """Connect to another process, and say who calls and what for."""
    near = address["machine"] == machine() and address["unix"] is not None
    end = time.monotonic() + seconds
    while True:
        try:
            if near:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.settimeout(seconds)
                connection.connect(address["unix"])
            else:
                connection = socket.create_connection((address["host"], address["port"]), seconds)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            hello = json.dumps(caller).encode()
            connection.sendall(token + len(hello).to_bytes(4, "little") + hello)
            connection.settimeout(None)
            return connection
        except BlockingIOError:  # many ranks call at once
            connection.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.002)


def ask_status(address: dict[str, Any], token: bytes, group: str, seconds: float = 2.0) -> str:
    """What another rank says that it last did."""
    try:
        with call(address, token, ("status", group, 0), seconds) as connection:
            connection.settimeout(seconds)
            answer = connection.recv(4096).decode()
        return answer or "does not say what it does"
    except TimeoutError:
        return "does not answer: it is stopped, or stuck in a long call"
    except OSError:
        return f"is gone (process {address['pid']} on {address['name']})"


__all__ = ["Endpoint", "ask_status", "call"]
