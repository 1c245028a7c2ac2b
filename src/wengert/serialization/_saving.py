"""`save`: writing objects to files that PyTorch can read."""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from wengert.serialization import tensor_files
from wengert.serialization._pickler import Pickler
from wengert.serialization.archives import ALIGNMENT, Writer
from wengert.tensor.storages import bytes_of

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_VERSION = 1001
Target = str | os.PathLike[str] | IO[bytes]


def save(
    obj: object,
    f: Target,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a file that PyTorch can read as well.

    The file is replaced atomically once it is completely on disk; an error or interrupt leaves
    the old one. Tensors that share memory share it again when they are loaded.

    Args:
        obj: tensors, containers of them, a `state_dict`; or a module, which is saved with the
            name of its class.
        f: a path, or a file open for binary writing. A path that ends in ``.safetensors`` selects
            that format and takes a dictionary of tensors.
        pickle_module: `pickle`.
        pickle_protocol: PyTorch's `weights_only` reads 2.

    >>> import io, wengert
    >>> file = io.BytesIO()
    >>> wengert.save({"step": 3, "weight": wengert.ones(2)}, file)
    >>> start = file.seek(0)
    >>> wengert.load(file)
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    if pickle_module is not pickle:
        raise NotImplementedError(
            "save(): only the standard library's pickle writes PyTorch's names, got"
            f" pickle_module={getattr(pickle_module, '__name__', pickle_module)}"
        )
    if isinstance(f, str | os.PathLike):
        path = Path(f)
        with replacing(path) as file:
            if path.suffix == tensor_files.SUFFIX:
                file.write(tensor_files.dumps(obj))
            elif _use_new_zipfile_serialization:
                _write(
                    obj, file, path.stem or "archive", pickle_protocol, _disable_byteorder_record
                )
            else:
                _write_legacy(obj, file, pickle_protocol)
    elif not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, got"
            f" {type(f).__name__}"
        )
    else:
        if _use_new_zipfile_serialization:
            _write(obj, f, "archive", pickle_protocol, _disable_byteorder_record)
        else:
            _write_legacy(obj, f, pickle_protocol)
        f.flush()


def _pickled(obj: object, protocol: int, legacy: bool) -> tuple[Any, list[Any]]:
    """The pickle of an object, and its storages as (reference, memory)."""
    data = BytesIO()
    pickler = Pickler(data, protocol, legacy)
    pickler.dump(obj)
    return data.getbuffer(), list(pickler.storages.values())


def _write(obj: object, file: Any, folder: str, protocol: int, without_order: bool) -> None:
    data, storages = _pickled(obj, protocol, legacy=False)
    writer = Writer(file, folder)
    writer.add("data.pkl", data)
    writer.add(".format_version", b"1")
    writer.add(".storage_alignment", str(ALIGNMENT).encode())
    if not without_order:
        writer.add("byteorder", sys.byteorder.encode())
    for reference, memory in storages:
        writer.add(f"data/{reference.identity[2]}", bytes_of(memory))
    writer.add("version", b"3\n")
    writer.close()


def _write_legacy(obj: object, file: Any, protocol: int) -> None:
    """The format of PyTorch before 1.6: pickles, and the storages behind them."""
    data, storages = _pickled(obj, protocol, legacy=True)
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {
        "protocol_version": LEGACY_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    for header in (LEGACY_MAGIC, LEGACY_VERSION, system):
        file.write(pickle.dumps(header, protocol))
    file.write(data)
    file.write(pickle.dumps([reference.identity[2] for reference, _ in storages], protocol))
    for reference, memory in storages:
        file.write(struct.pack("<q", reference.identity[4]))
        file.write(bytes_of(memory))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Any]:
    """A file that replaces the one at `path` when the block ends without an error."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    if target.exists() and not target.is_file():  # a device or a pipe is written to as it is
        with open(target, "wb") as file:
            yield file
        return
    temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


__all__ = ["save"]
