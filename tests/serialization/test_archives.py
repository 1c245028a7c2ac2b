"""Archives by themselves: where records lie, and what is refused of a file."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

import numpy as np
import pytest

from wengert.serialization import archives
from wengert.serialization.archives import ALIGNMENT, Reader, Writer, read_into


def written(*records: tuple[str, bytes], folder: str = "archive") -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, folder)
    for name, data in records:
        writer.add(name, data)
    writer.close()
    assert writer.position == len(stream.getvalue())
    return stream.getvalue()


RECORDS = (("data.pkl", b"pickle"), ("data/0", b"0" * 100), ("empty", b""), ("data/1", b"1" * 3))


def reader(data: bytes) -> Reader:
    return Reader(io.BytesIO(data))


def test_records_come_back() -> None:
    archive = reader(written(*RECORDS))
    assert archive.folder == "archive"
    for name, data in RECORDS:
        assert name in archive
        assert archive.read(name).tobytes() == data
    assert "data/2" not in archive
    assert ".data/serialization_id" in archive


def test_other_readers_agree() -> None:
    archive = zipfile.ZipFile(io.BytesIO(written(*RECORDS)))
    assert archive.testzip() is None
    assert archive.namelist()[:-1] == [f"archive/{name}" for name, _ in RECORDS]
    assert archive.read("archive/data/0") == b"0" * 100
    assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())


@pytest.mark.torch
def test_pytorch_reads_it(torch: Any) -> None:
    archive = torch._C.PyTorchFileReader(io.BytesIO(written(*RECORDS, ("version", b"3\n"))))
    assert archive.get_record("data/0") == b"0" * 100


@pytest.mark.parametrize("folder", ["a", "archive", "a" * 63, "a" * 64, "ä"])
def test_data_begins_at_multiples(folder: str) -> None:
    archive = reader(written(*RECORDS, folder=folder))
    for name, data in RECORDS:
        begin, size = archive.find(name)
        assert begin % ALIGNMENT == 0
        assert size == len(data)


def test_what_is_read_may_be_written() -> None:
    data = reader(written(*RECORDS)).read("data/0")
    assert data.flags.writeable
    data[0] = 1


def test_identities_depend_on_names_and_data() -> None:
    def identity(*records: tuple[str, bytes]) -> bytes:
        return reader(written(*records)).read(".data/serialization_id").tobytes()

    assert len(identity(("a", b"1"))) == 40
    assert identity(("a", b"1")) == identity(("a", b"1"))
    assert identity(("a", b"1")) != identity(("b", b"1"))
    assert identity(("a", b"1")) != identity(("a", b"2"))


def test_large_records_have_wide_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LIMIT", 50)  # as if fields of four bytes ended there
    data = written(*RECORDS)
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.read("archive/data/0") == b"0" * 100
    own = reader(data)
    assert own.read("data/0").tobytes() == b"0" * 100
    assert own.find("data/0")[0] % ALIGNMENT == 0
    assert own.read("data/1").tobytes() == b"111"


def test_arrays_and_views_are_written_as_bytes() -> None:
    archive = reader(written(("x", np.arange(3, dtype=np.int16).data), ("y", memoryview(b"ab"))))  # type: ignore[arg-type]
    assert archive.read("x").view(np.int16).tolist() == [0, 1, 2]


def zipped(compression: int = zipfile.ZIP_STORED, names: tuple[str, ...] = ("a/x",)) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name in names:
            archive.writestr(name, b"text " * 20)
    return stream.getvalue()


def test_archives_that_others_wrote() -> None:
    archive = reader(zipped())
    assert archive.folder == "a"
    assert archive.read("x").tobytes() == b"text " * 20


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "failed finding central directory"),
        (b"no archive at all", "failed finding central directory"),
        (zipped(names=()), "it is empty"),
        (written(*RECORDS)[:-30], "failed finding central directory"),
    ],
)
def test_what_is_no_archive(data: bytes, message: str) -> None:
    with pytest.raises(RuntimeError, match=f"PytorchStreamReader failed reading zip.*{message}"):
        reader(data)


def test_a_record_that_is_missing() -> None:
    with pytest.raises(RuntimeError, match="reading file archive/other: file not found"):
        reader(written(*RECORDS)).find("other")


def test_a_compressed_record() -> None:
    with pytest.raises(RuntimeError, match="it is compressed or encrypted"):
        reader(zipped(zipfile.ZIP_DEFLATED)).find("x")


def test_an_encrypted_record() -> None:
    archive = reader(zipped())
    archive.entries["a/x"].flag_bits |= 1
    with pytest.raises(RuntimeError, match="it is compressed or encrypted"):
        archive.find("x")


@pytest.mark.parametrize("offset", [-1, 10**9])
def test_a_header_outside_of_the_file(offset: int) -> None:
    archive = reader(zipped())
    archive.entries["a/x"].header_offset = offset
    with pytest.raises(RuntimeError, match="it lies outside of the file"):
        archive.find("x")


def test_a_header_that_is_none() -> None:
    archive = reader(zipped())
    archive.entries["a/x"].header_offset = 4
    with pytest.raises(RuntimeError, match="its header is not one"):
        archive.find("x")


def test_data_beyond_the_end() -> None:
    archive = reader(zipped())
    entry = archive.entries["a/x"]
    entry.file_size = entry.compress_size = archive.length
    with pytest.raises(RuntimeError, match="it lies outside of the file"):
        archive.find("x")


def test_records_over_each_other() -> None:
    """Each is within the file, but together they are longer than it."""
    archive = reader(zipped(names=("a/x",)))
    for _ in range(archive.length // 100):
        archive.find("x")
    with pytest.raises(RuntimeError, match="records overlap"):
        archive.find("x")


def test_checksums() -> None:
    data = bytearray(written(("x", b"content")))
    begin, _ = reader(bytes(data)).find("x")
    data[begin] ^= 1
    with pytest.raises(RuntimeError, match="its checksum is wrong"):
        reader(bytes(data)).read("x")
    archive = reader(bytes(data))
    archive.entries["archive/x"].CRC = 0  # saved without
    assert archive.read("x").tobytes() == b"bontent"


def test_a_name_that_is_listed_twice() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(names=("a/x", "a/x"))
    with pytest.raises(RuntimeError, match="a record is listed twice"):
        reader(data)


def test_a_file_that_becomes_shorter() -> None:
    with pytest.raises(RuntimeError, match="unexpected EOF"):
        read_into(io.BytesIO(b"abc"), 1, np.empty(3, np.uint8))


def test_reading_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_CHUNK", 3)
    out = np.empty(8, np.uint8)
    read_into(io.BytesIO(b"-0123456789"), 1, out)
    assert out.tobytes() == b"01234567"


def test_headers_are_pytorchs() -> None:
    data = written(("x", b"content"))
    assert data[:4] == b"PK\x03\x04"
    (flags,) = struct.unpack_from("<H", data, 6)
    assert flags == 0x808  # sizes behind the data, names in UTF-8
    assert data[struct.calcsize("<4s5H3I2H") + len("archive/x") :].startswith(b"FB")
