"""Zip archives as PyTorch writes them: entries stored as they are, data at multiples of 64.

The layout is PyTorch's to the byte, so that its own readers may compute where data begins.
Reading trusts nothing: an entry must be uncompressed, inside the file, and of the stated length,
and all data read together is at most as long as the file.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, Any, NamedTuple

import numpy as np

ALIGNMENT = 64
MAGIC = b"PK\x03\x04"
LIMIT = 0xFFFFFFFF  # from here on a number stands in a field of eight bytes, not of four
_ELSEWHERE = 0xFFFFFFFF  # what then stands in the field of four

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_DESCRIBED, _UTF8 = 0x8, 0x800
_CHUNK = 1 << 24

_DAMAGED = (
    " There is a high likelihood that the file is damaged: not saved to the end, cut off by a"
    " transfer, or modified."
)


class Record(NamedTuple):
    """One record of an archive."""

    name: bytes
    size: int
    checksum: int
    offset: int  # of its header


class Writer:
    """Writes records into a stream one after the other, below one folder."""

    def __init__(self, stream: Any, folder: str) -> None:
        self.stream, self.folder = stream, folder
        self.position = 0
        self.entries: list[Record] = []

    def add(self, name: str, data: Any) -> None:
        """Write a record."""
        view = memoryview(data).cast("B")
        path = f"{self.folder}/{name}".encode()
        entry = Record(path, view.nbytes, zlib.crc32(view), self.position)
        zip64 = struct.pack("<2H2Q", 1, 16, entry.size, entry.size) if entry.size >= LIMIT else b""
        begin = self.position + _LOCAL.size + len(path) + len(zip64) + 4
        padding = -begin % ALIGNMENT
        extra = zip64 + struct.pack("<2s1H", b"FB", padding) + b"Z" * padding
        size = _ELSEWHERE if zip64 else 0  # else the descriptor behind the data says it
        header = _LOCAL.pack(
            MAGIC, 0, _flags(entry), 0, 0, 0, 0, size, size, len(path), len(extra)
        )  # fmt: skip
        self._write(header + path + extra)
        self._write(view)
        if entry.size:
            sizes = "<2Q" if zip64 else "<2I"
            self._write(struct.pack("<4sI", b"PK\x07\x08", entry.checksum))
            self._write(struct.pack(sizes, entry.size, entry.size))
        self.entries.append(entry)

    def close(self) -> None:
        """Write the directory."""
        self.add(".data/serialization_id", self._identity())
        begin = self.position
        for entry in self.entries:
            self._write(_listed(entry))
        end, count = self.position, len(self.entries)
        self._write(struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 0x31E, 45, 0, 0, count, count,
                                end - begin, begin))  # fmt: skip
        self._write(struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1))
        few = min(count, 0xFFFF)
        self._write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, few, few,
                                _short(end - begin), _short(begin), 0))  # fmt: skip

    def _identity(self) -> bytes:
        """40 digits that depend on the names and on the data."""
        names = zlib.crc32(b"\0".join(entry.name for entry in self.entries))
        data = zlib.crc32(
            struct.pack(f"<{len(self.entries)}I", *[e.checksum for e in self.entries])
        )
        return f"{names:020}{data:020}".encode()

    def _write(self, data: Any) -> None:
        self.stream.write(data)
        self.position += memoryview(data).nbytes


def _flags(entry: Record) -> int:
    return _UTF8 | (_DESCRIBED if entry.size else 0)


def _short(n: int) -> int:
    return n if n < LIMIT else _ELSEWHERE


def _listed(entry: Record) -> bytes:
    """The line of the directory for a record."""
    large = [n for n in (entry.size, entry.size, entry.offset) if n >= LIMIT]
    extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    size, offset = _short(entry.size), _short(entry.offset)
    head = _CENTRAL.pack(
        b"PK\x01\x02", 0, 0, _flags(entry), 0, 0, 0, entry.checksum, size, size,
        len(entry.name), len(extra), 0, 0, 0, 0, offset,
    )  # fmt: skip
    return head + entry.name + extra


class Reader:
    """The records of an archive in a seekable file."""

    def __init__(self, file: IO[bytes]) -> None:
        from zipfile import BadZipFile, ZipFile

        self.file = file
        self.length = self.left = file.seek(0, 2)
        try:
            listed = ZipFile(file).infolist()
        except (BadZipFile, NotImplementedError, ValueError, struct.error, OverflowError) as error:
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: failed finding central directory"
                f" ({error})." + _DAMAGED
            ) from None
        except OSError as error:  # of a seek to where there is nothing
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: {error}." + _DAMAGED
            ) from None
        if not listed:
            raise RuntimeError("PytorchStreamReader failed reading zip archive: it is empty.")
        self.folder = listed[0].filename.partition("/")[0]
        self.entries = {entry.filename: entry for entry in listed}
        if len(self.entries) < len(listed):
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: a record is listed twice."
                + _DAMAGED
            )

    def __contains__(self, name: str) -> bool:
        return f"{self.folder}/{name}" in self.entries

    def find(self, name: str) -> tuple[int, int]:
        """Where the data of a record begins and how long it is, after checking both.

        All requested records together are no longer than the file.
        """
        path = f"{self.folder}/{name}"
        entry = self.entries.get(path)
        if entry is None:
            raise _failed(path, "file not found")
        if entry.compress_type or entry.compress_size != entry.file_size or entry.flag_bits & 1:
            raise _failed(path, "it is compressed or encrypted, which PyTorch never writes")
        if not 0 <= entry.header_offset <= self.length - _LOCAL.size:
            raise _failed(path, "it lies outside of the file")
        self.file.seek(entry.header_offset)
        header = _LOCAL.unpack(self.file.read(_LOCAL.size))
        begin = entry.header_offset + _LOCAL.size + header[9] + header[10]
        if header[0] != MAGIC:
            raise _failed(path, "its header is not one")
        if begin + entry.file_size > self.length:
            raise _failed(path, "it lies outside of the file")
        self.left -= entry.file_size
        if self.left < 0:
            raise _failed(path, "records overlap")
        return begin, entry.file_size

    def read(self, name: str) -> np.ndarray:
        """The data of a record, as bytes that may be written to."""
        begin, size = self.find(name)
        path = f"{self.folder}/{name}"
        data = np.empty(size, np.uint8)
        read_into(self.file, begin, data)
        checksum = self.entries[path].CRC
        if checksum and checksum != zlib.crc32(data.data):  # 0: saved without checksums
            raise _failed(path, "its checksum is wrong")
        return data


def read_into(file: IO[bytes], begin: int, data: np.ndarray) -> None:
    """Read as many bytes as `data` has, which is to be known not to be too many."""
    file.seek(begin)
    view, at = data.data, 0
    while at < len(view):
        chunk = file.read(min(_CHUNK, len(view) - at))
        if not chunk:
            raise RuntimeError("unexpected EOF: the file has become shorter while it was read")
        view[at : at + len(chunk)] = chunk
        at += len(chunk)


def _failed(path: str, why: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed reading file {path}: {why}." + _DAMAGED)
