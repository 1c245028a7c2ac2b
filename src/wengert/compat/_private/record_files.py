"""``torch._C.PyTorchFileWriter`` and ``PyTorchFileReader``: archives, record by record."""

from __future__ import annotations

import os
import sys
import weakref
from pathlib import Path
from typing import Any

from wengert.serialization.archives import Reader, Writer
from wengert.tensor.storages import TypedStorage, UntypedStorage, bytes_of

_Source = str | os.PathLike[str] | Any


class PyTorchFileWriter:
    """Writes records into a file, by its name or open for writing."""

    def __init__(
        self, file: _Source, compute_crc32: bool = True, storage_alignment: int = 64
    ) -> None:
        self._opened = None
        name = "archive"
        if isinstance(file, str | os.PathLike):
            path = Path(file)
            if not path.parent.is_dir():
                raise RuntimeError(f"Parent directory {path.parent} does not exist.")
            name = path.stem or name
            self._opened = file = open(path, "wb")  # noqa: SIM115 (closed at the archive's end)
            weakref.finalize(self, file.close)
        if storage_alignment != 64:
            raise ValueError(f"storage_alignment has to be 64, but got {storage_alignment}")
        self._writer, self._names = Writer(file, name), set[str]()

    def archive_name(self) -> str:
        """The name of the folder in the archive."""
        return self._writer.folder

    def get_all_written_records(self) -> set[str]:
        """The names of the records."""
        return set(self._names)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write the first `size` bytes of bytes, text or a storage under a name."""
        self._check_open("write_record")
        if name in self._names:
            raise RuntimeError(f"write_record(): there is a record {name!r} already")
        view = memoryview(_bytes_of(data)).cast("B")
        if not 0 <= size <= len(view):
            raise ValueError(
                f"write_record(): size is {size} for {name!r}, of which there are {len(view)} bytes"
            )
        self._add(name, view[:size])

    def write_end_of_file(self) -> None:
        """Write what ends an archive; no record can follow."""
        self._check_open("write_end_of_file")
        for name, data in (("version", b"3\n"), ("byteorder", sys.byteorder.encode())):
            if name not in self._names:
                self._add(name, data)
        self._writer.close()
        self._names.add(".data/serialization_id")
        self._writer.stream.flush()
        if self._opened is not None:
            self._opened.close()
        self._writer.stream = None

    def _add(self, name: str, data: Any) -> None:
        self._writer.add(name, data)
        self._names.add(name)

    def _check_open(self, name: str) -> None:
        if self._writer.stream is None:
            raise RuntimeError(f"{name}(): the end of the archive is written")


def _bytes_of(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, TypedStorage):
        data = data.untyped()
    if isinstance(data, UntypedStorage):
        return bytes_of(data._owner)
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            "write_record(): argument 'data' must be bytes, str or a storage, not"
            f" {type(data).__name__}"
        )
    return data


class PyTorchFileReader:
    """The records of an archive, by the name of its file or from one open for reading."""

    def __init__(self, file: _Source) -> None:
        if isinstance(file, str | os.PathLike):
            try:
                file = open(file, "rb")  # noqa: SIM115 (open as long as there is a reader)
            except OSError as error:
                raise RuntimeError(f"open file failed: {error}") from None
            weakref.finalize(self, file.close)
        self._reader = Reader(file)

    def get_all_records(self) -> list[str]:
        """The names of the records."""
        start = len(self._reader.folder) + 1
        return [name[start:] for name in self._reader.entries]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of a name."""
        return name in self._reader

    def get_record(self, name: str) -> bytes:
        """The data of a record."""
        self._reader.left = self._reader.length  # each call reads anew
        return self._reader.read(name).tobytes()

    def get_record_offset(self, name: str) -> int:
        """Where in the file the data of a record begins."""
        return self._find(name)[0]

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._find(name)[1]

    def serialization_id(self) -> str:
        """The digits that tell archives apart; empty if there are none."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""

    def _find(self, name: str) -> tuple[int, int]:
        self._reader.left = self._reader.length
        return self._reader.find(name)


__all__ = ["PyTorchFileReader", "PyTorchFileWriter"]
