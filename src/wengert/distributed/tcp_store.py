"""`TCPStore`: a store in one process, which the others reach over the network."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from wengert.distributed.errors import DistNetworkError, DistStoreError
from wengert.distributed.store import DEFAULT_TIMEOUT, HashStore, Store, as_bytes

_LENGTH = struct.Struct("<I")
_LONGEST_WAIT = 1.0  # seconds that one request may keep a connection


def receive_exactly(connection: socket.socket, count: int) -> bytearray:
    """So many bytes; ConnectionError if the other side closes before."""
    data = bytearray(count)
    view = memoryview(data)
    while view:
        received = connection.recv_into(view)
        if not received:
            raise ConnectionError("the other side closed the connection")
        view = view[received:]
    return data


def _send(connection: socket.socket, fields: Sequence[bytes]) -> None:
    lengths = b"".join(_LENGTH.pack(len(field)) for field in fields)
    connection.sendall(_LENGTH.pack(len(fields)) + lengths + b"".join(fields))


def _receive(connection: socket.socket) -> list[bytes]:
    (count,) = _LENGTH.unpack(receive_exactly(connection, 4))
    lengths = struct.unpack(f"<{count}I", receive_exactly(connection, 4 * count))
    return [bytes(receive_exactly(connection, length)) for length in lengths]


class _Server:
    """Answers the requests of clients, each in a thread of its own, from one table."""

    def __init__(self, listener: socket.socket) -> None:
        self.table = HashStore()
        self.listener = listener
        self._connections: set[socket.socket] = set()
        self._lock, self._closed = threading.Lock(), False
        threading.Thread(target=self._accept, daemon=True, name="store").start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self._lock:
                if self._closed:  # the client is to find another master
                    connection.close()
                    return
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while True:
                operation, *arguments = _receive(connection)
                _send(connection, self._answer(operation.decode(), arguments))

    def _answer(self, operation: str, arguments: list[bytes]) -> list[bytes]:
        table, key = self.table, arguments[0].decode() if arguments else ""
        if operation == "wait":
            with contextlib.suppress(DistStoreError):
                table.wait(json.loads(arguments[0]), timedelta(seconds=float(arguments[1])))
                return [b"1"]
            return [b""]
        if operation == "check":
            return [b"1" if table.check(json.loads(arguments[0])) else b""]
        if operation == "list":
            return [name.encode() for name in table.list_keys()]
        if operation == "get":
            return [table._read(key)]
        if operation == "add":
            return [str(table.add(key, int(arguments[1]))).encode()]
        if operation == "compare_set":
            return [table.compare_set(key, arguments[1], arguments[2])]
        if operation == "delete":
            return [b"1" if table.delete_key(key) else b""]
        getattr(table, operation)(key, arguments[1])  # set, append
        return []

    def close(self) -> None:
        with self._lock:
            self._closed = True
            ends = [self.listener, *self._connections]
        # `shutdown` wakes the thread in `accept`, which `close` alone does not.
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class TCPStore(Store):
    """A store that lives in the process with ``is_master=True``.

    Args:
        host_name: where the master is.
        port: its port; 0 lets the system choose one.
        world_size: how many processes there will be; None if that is not known.
        is_master: whether the store lives in this process.
        timeout: how long to wait for the master, the other processes, and keys.
        wait_for_workers: whether the master waits until all others have connected.
        multi_tenant: whether a second master on the same port becomes a client of the first.
        master_listen_fd: a socket of the master that already listens.
        use_libuv: without effect.

    >>> from wengert.distributed import TCPStore
    >>> master = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    >>> client = TCPStore("127.0.0.1", master.port)
    >>> client.set("a", "1")
    >>> master.get("a")
    b'1'
    >>> client.close(); master.close()
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.host, self._timeout = host_name, timeout
        self._server: _Server | None = None
        if is_master:
            listener = _listener(host_name, port, master_listen_fd, multi_tenant)
            if listener is not None:
                port = listener.getsockname()[1]
                self._server = _Server(listener)
        self.port = port
        self._lock = threading.Lock()
        self._connection = _connected(host_name, port, timeout)
        if world_size and wait_for_workers:
            self.add("wengert/workers", 1)
            if is_master:
                self._wait_for_workers(world_size)

    def _wait_for_workers(self, world_size: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while (count := int(self._read("wengert/workers"))) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():.0f} seconds waiting for"
                    f" clients. {count}/{world_size} clients joined."
                )
            time.sleep(0.005)

    def _ask(self, operation: str, *arguments: bytes) -> list[bytes]:
        with self._lock:
            try:
                _send(self._connection, (operation.encode(), *arguments))
                return _receive(self._connection)
            except OSError as error:
                raise DistNetworkError(
                    f"the store at {self.host}:{self.port} is gone ({error}): the process that"
                    " held it has ended"
                ) from None

    def set(self, key: str, value: str | bytes) -> None:
        self._ask("set", key.encode(), as_bytes(value))

    def _read(self, key: str) -> bytes:
        return self._ask("get", key.encode())[0]

    def add(self, key: str, amount: int) -> int:
        return int(self._ask("add", key.encode(), str(amount).encode())[0])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._ask("compare_set", key.encode(), as_bytes(expected), as_bytes(desired))[0]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask("append", key.encode(), as_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask("check", json.dumps(list(keys)).encode())[0])

    def delete_key(self, key: str) -> bool:
        return bool(self._ask("delete", key.encode())[0])

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        return [key.decode() for key in self._ask("list")]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        limit = self._timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        named = json.dumps(list(keys)).encode()
        while True:
            left = end - time.monotonic()
            seconds = max(0.0, min(left, _LONGEST_WAIT))
            if self._ask("wait", named, str(seconds).encode())[0]:
                return
            if left <= 0:
                raise DistStoreError(
                    f"wait timeout after {limit.total_seconds() * 1000:.0f}ms, keys:"
                    f" {', '.join(keys)}: no rank has set them"
                )

    def close(self) -> None:
        self._connection.close()
        if self._server is not None:
            self._server.close()


def _listener(host: str, port: int, listening: int | None, shared: bool) -> Any:
    """A listening socket; None if the port is taken by a store that may be shared."""
    if listening is not None:
        return socket.socket(fileno=listening)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    local = host in ("localhost", "127.0.0.1", "::1")
    try:
        listener.bind(("127.0.0.1" if local else "", port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if shared:
            return None
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port},"
            f" host: {host}: {error.strerror}"
        ) from None
    return listener


def _connected(host: str, port: int, timeout: timedelta) -> socket.socket:
    end = time.monotonic() + timeout.total_seconds()
    pause = 0.005
    while True:
        try:
            connection = socket.create_connection((host, port), timeout.total_seconds())
        except OSError as error:
            if time.monotonic() + pause > end:
                raise DistNetworkError(
                    f"The client socket has timed out after {timeout.total_seconds():.0f}s while"
                    f" trying to connect to ({host}, {port}): {error}"
                ) from None
            time.sleep(pause)
            pause = min(2 * pause, 0.2)
            continue
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


__all__ = ["TCPStore"]
