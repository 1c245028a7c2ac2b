"""Stores: small tables of bytes that all ranks share, through which they first meet."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from wengert.distributed.errors import DistStoreError

DEFAULT_TIMEOUT = timedelta(seconds=300)


def as_bytes(value: Any) -> bytes:
    """A value of a store: a string in UTF-8, or bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise TypeError(f"a store holds str or bytes, got {type(value).__name__}")


class Store:
    """A table of bytes, shared by processes. Subclasses say where it lives.

    >>> from wengert.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("a", "1")
    >>> store.get("a"), store.add("n", 2), store.check(["b"])
    (b'1', 2, False)
    """

    _timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait for a key."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        raise NotImplementedError

    def get(self, key: str) -> bytes:
        """The value of a key, once there is one; `DistStoreError` if none comes in time."""
        self.wait([key])
        return self._read(key)

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first; return the sum."""
        raise NotImplementedError

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Replace a value by `desired` if it is `expected`, or missing and that is empty."""
        raise NotImplementedError

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        raise NotImplementedError

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have values."""
        raise NotImplementedError

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether there was one."""
        raise NotImplementedError

    def num_keys(self) -> int:
        """How many keys have values."""
        raise NotImplementedError

    def list_keys(self) -> list[str]:
        """The keys with values."""
        raise NotImplementedError

    def _read(self, key: str) -> bytes:
        raise NotImplementedError

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values; `DistStoreError` after the timeout."""
        limit = self._timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        pause = 1e-4
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(_late(keys, limit))
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` work."""
        return True

    def close(self) -> None:
        """Let go of connections and files."""


def _late(keys: Sequence[str], limit: timedelta) -> str:
    named = ", ".join(keys)
    seconds = limit.total_seconds()
    return f"wait timeout after {seconds * 1000:.0f}ms, keys: {named}: no rank has set them"


class HashStore(Store):
    """A store for the threads of one process.

    >>> from wengert.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("key", b"value")
    >>> store.num_keys()
    1
    """

    def __init__(self) -> None:
        self._table: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._table[key] = as_bytes(value)
            self._changed.notify_all()

    def _read(self, key: str) -> bytes:
        with self._changed:
            return self._table[key]

    def add(self, key: str, amount: int) -> int:
        with self._changed:
            total = int(self._table.get(key, b"0")) + amount
            self.set(key, str(total))
        return total

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        with self._changed:
            if self._table.get(key, b"") == as_bytes(expected):
                self.set(key, desired)
            return self._table.get(key, as_bytes(expected))

    def append(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self.set(key, self._table.get(key, b"") + as_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        with self._changed:
            return all(key in self._table for key in keys)

    def delete_key(self, key: str) -> bool:
        with self._changed:
            return self._table.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self._table)

    def list_keys(self) -> list[str]:
        with self._changed:
            return list(self._table)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        limit = self._timeout if timeout is None else timeout
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), limit.total_seconds()):
                raise DistStoreError(_late(keys, limit))


class PrefixStore(Store):
    """A store whose keys begin with a prefix in the one below.

    >>> from wengert.distributed import HashStore, PrefixStore
    >>> below = HashStore()
    >>> PrefixStore("run", below).set("a", "1")
    >>> below.get("run/a")
    b'1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store

    @property
    def timeout(self) -> timedelta:
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self.underlying_store.set_timeout(timeout)

    def close(self) -> None:
        self.underlying_store.close()

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key(key), amount)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self.underlying_store.compare_set(self._key(key), expected, desired)

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._key(key), value)

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check([self._key(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        start = self._key("")
        keys = self.underlying_store.list_keys()
        return [key.removeprefix(start) for key in keys if key.startswith(start)]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.underlying_store.wait([self._key(key) for key in keys], timeout)


_RECORD = struct.Struct("<?II")  # whether it sets, and the lengths of key and value


class FileStore(Store):
    """A store in a file, which all processes reach: a log of what was set and deleted.

    The last of `world_size` processes that closes it removes the file.

    >>> import os, tempfile
    >>> from wengert.distributed import FileStore
    >>> path = os.path.join(tempfile.mkdtemp(), "store")
    >>> FileStore(path, 1).add("n", 3)
    3
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path, self._world_size = file_name, world_size
        self._open = True

    @contextmanager
    def _locked(self) -> Iterator[tuple[Any, dict[str, bytes]]]:
        import fcntl

        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield file, _replayed(file.read())

    def _log(self, file: Any, key: str, value: bytes | None) -> None:
        name = key.encode()
        file.write(_RECORD.pack(value is not None, len(name), len(value or b"")))
        file.write(name + (value or b""))

    def set(self, key: str, value: str | bytes) -> None:
        with self._locked() as (file, _):
            self._log(file, key, as_bytes(value))

    def _read(self, key: str) -> bytes:
        with self._locked() as (_, table):
            return table[key]

    def add(self, key: str, amount: int) -> int:
        with self._locked() as (file, table):
            total = int(table.get(key, b"0")) + amount
            self._log(file, key, str(total).encode())
        return total

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        with self._locked() as (file, table):
            if table.get(key, b"") != as_bytes(expected):
                return table.get(key, as_bytes(expected))
            self._log(file, key, as_bytes(desired))
        return as_bytes(desired)

    def append(self, key: str, value: str | bytes) -> None:
        with self._locked() as (file, table):
            self._log(file, key, table.get(key, b"") + as_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        with self._locked() as (_, table):
            return all(key in table for key in keys)

    def delete_key(self, key: str) -> bool:
        with self._locked() as (file, table):
            self._log(file, key, None)
            return key in table

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._locked() as (_, table):
            return list(table)

    def close(self) -> None:
        if self._open and self._world_size > 0:
            self._open = False
            if self.add("closed", 1) >= self._world_size:
                os.unlink(self.path)


def _replayed(data: bytes) -> dict[str, bytes]:
    table: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        sets, key_length, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        key = data[at : at + key_length].decode()
        at += key_length
        if sets:
            table[key] = data[at : at + length]
        else:
            table.pop(key, None)
        at += length
    return table


__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]
