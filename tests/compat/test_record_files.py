"""PyTorch's readers and writers of records against those that stand for them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import wengert
from wengert.compat._private import record_files

NAMES = ["data.pkl", "data/0", "data/1", "text", "version", "byteorder", ".data/serialization_id"]


def write(library: Any, kinds: Any, target: Any) -> None:
    values = library.arange(4.0)
    writer = kinds.PyTorchFileWriter(target)
    writer.write_record("data.pkl", b"pickled", 6)
    writer.write_record("data/0", values.untyped_storage(), 16)
    writer.write_record("data/1", values.to(library.int8).untyped_storage(), 4)
    writer.write_record("text", "words", 5)
    assert writer.get_all_written_records() == set(NAMES[:4])
    writer.write_end_of_file()
    assert writer.get_all_written_records() == set(NAMES)


def found(kinds: Any, source: Any) -> list[Any]:
    reader = kinds.PyTorchFileReader(source)
    assert reader.get_all_records() == NAMES
    assert not reader.has_record("data/2")
    assert len(reader.serialization_id()) == 40
    return [
        (reader.get_record(n), reader.get_record_offset(n), reader.get_record_size(n))
        for n in NAMES[:-1]
    ]


@pytest.mark.torch
def test_files_are_those_of_pytorch(torch: Any, tmp_path: Path) -> None:
    files = [tmp_path / "ours" / "model.pt", tmp_path / "theirs" / "model.pt"]
    for file, library, kinds in zip(files, (wengert, torch), (record_files, torch._C), strict=True):
        file.parent.mkdir()
        write(library, kinds, str(file))
    results = [found(kinds, str(f)) for f in files for kinds in (record_files, torch._C)]
    assert results[0] == results[1] == results[2] == results[3]


def test_into_and_out_of_memory() -> None:
    stream = io.BytesIO()
    write(wengert, record_files, stream)
    assert found(record_files, stream)[0][0] == b"pickle"


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Parent directory"):
        record_files.PyTorchFileWriter(str(tmp_path / "no" / "file"))
    writer = record_files.PyTorchFileWriter(io.BytesIO())
    writer.write_record("a", b"abc", 3)
    with pytest.raises(RuntimeError, match="'a' already"):
        writer.write_record("a", b"abc", 3)
    for size in (-1, 4):
        with pytest.raises(ValueError, match=f"size is {size} for 'b', of which there are 3"):
            writer.write_record("b", b"abc", size)
    with pytest.raises(TypeError, match="must be bytes, str or a storage, not int"):
        writer.write_record("b", 140_000_000, 4)
    writer.write_end_of_file()
    for call in (writer.write_end_of_file, lambda: writer.write_record("c", b"", 0)):
        with pytest.raises(RuntimeError, match="the end of the archive is written"):
            call()


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="open file failed"):
        record_files.PyTorchFileReader(str(tmp_path / "nothing"))
    stream = io.BytesIO()
    write(wengert, record_files, stream)
    with pytest.raises(RuntimeError, match="file not found"):
        record_files.PyTorchFileReader(stream).get_record("other")
