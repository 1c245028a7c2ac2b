"""`load`: objects from files saved by this library or by PyTorch."""

from __future__ import annotations

import contextlib
import mmap as _mmap
import os
import pickle
import struct
import sys
from collections.abc import Iterator
from io import BytesIO, UnsupportedOperation
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from wengert.serialization import tensor_files
from wengert.serialization._allowed import Allowed
from wengert.serialization._locations import Restore, restorer
from wengert.serialization._machine import Machine
from wengert.serialization._names import modern
from wengert.serialization._saving import LEGACY_MAGIC, LEGACY_VERSION, Target
from wengert.serialization._state import short_repr
from wengert.serialization._storages import Loaded, StorageClass
from wengert.serialization.archives import ALIGNMENT, MAGIC, Reader, read_into
from wengert.tensor.storages import UntypedStorage


def load(
    f: Target,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load a file written by `save`, or by PyTorch's.

    No file can run code: the library's own reader builds only tensors, plain containers and
    what `serialization.add_safe_globals` allows. `pickle.UnpicklingError` names anything else
    that a file requests.

    Args:
        f: a path, or a seekable file. A path that ends in ``.safetensors`` is read as such.
        map_location: where to put the tensors: a device, a dictionary from saved devices to
            others, or a function of a storage and its saved device. Required for a file saved on
            another device.
        pickle_module: `pickle`, or None.
        weights_only: False also accepts modules and optimizers, of imported classes.
        mmap: memory-map the file instead of reading it; writes stay in memory.
        pickle_load_args: `encoding`, of strings that Python 2 pickled.

    >>> import io, wengert
    >>> file = io.BytesIO()
    >>> wengert.save(wengert.nn.Linear(2, 1).state_dict(), file)
    >>> start = file.seek(0)
    >>> list(wengert.load(file))
    ['weight', 'bias']
    """
    weights_only = weights_only is None or bool(weights_only)
    _check_module(pickle_module, weights_only)
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(
            f"load() got an unexpected keyword argument {next(iter(pickle_load_args))!r}"
        )
    if mmap and not isinstance(f, str | os.PathLike):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if isinstance(f, str | os.PathLike) and Path(f).suffix == tensor_files.SUFFIX:
        return tensor_files.read_tensors(Path(f))
    with _opened(f) as file:
        loading = _Loading(file, restorer(map_location), Allowed(weights_only), encoding)
        try:
            return loading.load(bool(mmap))
        except UnpicklingError as error:
            raise UnpicklingError(_explained(str(error), weights_only)) from None


def get_unsafe_globals_in_checkpoint(f: Target) -> list[str]:
    """Return the names in a file that `load` refuses; nothing is loaded.

    >>> import io, wengert
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> wengert.save(Fraction(1, 3), file)
    >>> wengert.serialization.get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']
    """
    from pickletools import genops

    allowed, refused = Allowed(weights_only=True), set()
    with _opened(f) as file:
        data = Reader(file).read("data.pkl").tobytes()
    try:
        for code, argument, _ in genops(data):
            if code.name == "STACK_GLOBAL":
                raise ValueError("its names can be listed only when it is saved with protocol 2")
            if code.name == "GLOBAL":
                module, name = modern(*str(argument).split(" ", 1))
                try:
                    allowed.find(module, name)
                except UnpicklingError:
                    refused.add(f"{module}.{name}")
    except (ValueError, TypeError) as error:
        raise UnpicklingError(f"the pickle in the file cannot be read: {error}") from None
    return sorted(refused)


def _check_module(pickle_module: Any, weights_only: bool) -> None:
    if pickle_module is None:
        return
    if weights_only:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified; leave out"
            " pickle_module"
        )
    if pickle_module is not pickle:
        raise NotImplementedError(
            "load(): files are read by a reader that runs no code, not by"
            f" pickle_module={getattr(pickle_module, '__name__', pickle_module)}"
        )


def _explained(detail: str, weights_only: bool) -> str:
    if not weights_only:
        return f"Loading failed: {detail}"
    return (
        "Weights only load failed. The file holds something else than tensors and plain"
        " containers, or is damaged. If it holds modules, load it with weights_only=False; if it"
        " holds objects of other classes that you trust, name them to"
        f" torch.serialization.add_safe_globals.\n\tWeightsUnpickler error: {detail}"
    )


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[Any]:
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the"
            " data into a buffer like io.BytesIO and try to load from it instead."
        ) from None
    yield f


class _Private(_mmap.mmap):
    """A copy-on-write mapping."""


class _Loading:
    """One call of `load`."""

    def __init__(self, file: Any, restore: Restore, allowed: Any, encoding: str) -> None:
        self.file, self.restore, self.allowed, self.encoding = file, restore, allowed, encoding
        self.storages: dict[str, Loaded] = {}
        self.length = 0
        self.swap = False  # whether numbers lie in the file in the other byte order

    def load(self, mapped: bool) -> Any:
        """The object that was saved."""
        start = self.file.tell()
        begin = self.file.read(len(MAGIC))
        if not begin:
            raise EOFError(f"Ran out of input: the file ends at its position {start}")
        self.file.seek(start)
        if begin == MAGIC:
            return self._zip(mapped)
        if mapped:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save("
                "_use_new_zipfile_serialization=True)`, please torch.save your checkpoint with"
                " this option in order to use mmap."
            )
        return self._legacy(start)

    def _machine(self, file: Any, length: int, storage: Any) -> Any:
        return Machine(file, length, self.allowed, storage, self.encoding).load()

    def _zip(self, mapped: bool) -> Any:
        archive = Reader(self.file)
        if "constants.pkl" in archive:
            raise RuntimeError(
                "the file is a TorchScript archive (of torch.jit.save), which holds programs: save"
                " the state_dict of the model instead"
            )
        if "byteorder" in archive:
            order = archive.read("byteorder").tobytes()
            if order not in (b"little", b"big"):
                raise ValueError(f"Unknown endianness type: {order!r}")
            self.swap = order.decode() != sys.byteorder
        memory = None
        if mapped:
            mapping = _Private(self.file.fileno(), 0, access=_mmap.ACCESS_COPY)
            memory = np.frombuffer(mapping, np.uint8)

        def storage(identity: Any) -> Loaded:
            kind, key, location, numel = _storage_fields(identity, 5)
            if key not in self.storages:
                data = _map_record(archive, key, memory) if mapped else archive.read(f"data/{key}")
                if data.nbytes != numel * kind.itemsize:
                    raise RuntimeError(
                        f"storage {key} of {numel} elements is not made of {data.nbytes} bytes"
                    )
                self._keep(key, kind, location, data)
            return self._loaded_storage(key, kind)

        data = archive.read("data.pkl").tobytes()
        result = self._machine(BytesIO(data), len(data), storage)
        self._finish()
        return result

    def _finish(self) -> None:
        for storage in self.storages.values():
            storage.finish()

    def _keep(self, key: str, kind: StorageClass, location: str, data: np.ndarray) -> None:
        if self.swap:
            _swap_bytes(data, kind)
        self._restore(key, kind, location, data)

    def _restore(self, key: str, kind: StorageClass, location: str, data: np.ndarray) -> None:
        restored = self.restore(UntypedStorage(data), location)
        self.storages[key] = Loaded(restored._owner, kind.dtype)

    def _loaded_storage(self, key: str, kind: StorageClass) -> Loaded:
        storage = self.storages[key]
        if storage.dtype is not kind.dtype:
            raise UnpicklingError(
                f"storage {key} is said to be of {storage.dtype} and {kind.dtype}"
            )
        return storage

    def _legacy(self, start: int) -> Any:
        """The format of PyTorch before 1.6: pickles, and the storages behind them."""
        self.length = self.file.seek(0, 2)
        self.file.seek(start)
        self._legacy_head()
        waiting: dict[str, tuple[StorageClass, np.ndarray]] = {}

        def storage(identity: Any) -> Loaded:
            kind, key, location, numel = _storage_fields(identity, 6)
            if identity[5] is not None:
                raise RuntimeError(f"storage {key} is a part of another, as in PyTorch 0.1")
            if key not in self.storages:
                reserved = sum(data.nbytes for _, data in waiting.values())
                if numel * kind.itemsize > self.length - reserved:
                    raise RuntimeError(f"storage {key} of {numel} elements is beyond the file")
                data = np.empty(numel * kind.itemsize, np.uint8)
                waiting[key] = kind, data
                self._restore(key, kind, location, data)
            return self._loaded_storage(key, kind)

        result = self._next_pickle(storage)
        keys = self._next_pickle()
        if type(keys) is not list or sorted(map(str, keys)) != sorted(waiting):
            raise RuntimeError("the list of storages is not that of the tensors; corrupt file?")
        for key in keys:
            self._read_legacy(*waiting[key])
        self._finish()
        return result

    def _next_pickle(self, storage: Any = None) -> Any:
        """The next of the pickles that follow each other."""
        left = self.length - self.file.tell()
        return self._machine(self.file, left, storage or _no_storage)

    def _legacy_head(self) -> None:
        if self._next_pickle() != LEGACY_MAGIC:
            raise RuntimeError("Invalid magic number; corrupt file?")
        version = self._next_pickle()
        if version != LEGACY_VERSION:
            raise RuntimeError(f"Invalid protocol version: {version}")
        system = self._next_pickle()
        if isinstance(system, dict) and type(system.get("little_endian")) is bool:
            self.swap = system["little_endian"] != (sys.byteorder == "little")

    def _read_legacy(self, kind: StorageClass, data: np.ndarray) -> None:
        head = self.file.read(8)
        at = self.file.tell()
        if len(head) < 8 or at + data.nbytes > self.length:
            raise RuntimeError("unexpected EOF: the file ends before its storages do")
        numel = struct.unpack("<q", head)[0]
        if numel * kind.itemsize != data.nbytes:
            raise RuntimeError(f"a storage has {numel} elements; corrupt file?")
        read_into(self.file, at, data)
        if self.swap:
            _swap_bytes(data, kind)


def _no_storage(identity: Any) -> Any:
    raise UnpicklingError("a storage is named where none can be")


def _storage_fields(identity: Any, length: int) -> tuple[StorageClass, str, str, int]:
    """What a pickle says of a storage: its class, key, location and number of elements."""
    if type(identity) is not tuple or len(identity) != length:
        raise UnpicklingError(f"a storage is described by {length} values")
    what, kind, key, location, numel = [
        item.decode("ascii", "replace") if type(item) is bytes else item for item in identity[:5]
    ]
    if what != "storage":
        raise UnpicklingError(f"Unknown saved id type: {short_repr(what)}")
    if type(kind) is not StorageClass or type(key) is not str or type(location) is not str:
        raise UnpicklingError("a storage is described by its class, its key and its location")
    if type(numel) is not int or numel < 0:
        raise UnpicklingError(f"a storage has {short_repr(numel)} elements")
    return kind, key, location, numel


def _map_record(archive: Reader, key: str, memory: Any) -> np.ndarray:
    begin, size = archive.find(f"data/{key}")
    data: np.ndarray = memory[begin : begin + size]
    if (
        not size or begin % ALIGNMENT
    ):  # of another writer: the elements may not lie as the processor wants
        return data.copy()
    # A separate array, so that tensors refer to this storage, not the whole file.
    return np.frombuffer(data.data, np.uint8)


def _swap_bytes(data: np.ndarray, kind: StorageClass) -> None:
    """Turn the bytes of each number around."""
    if kind.dtype is None:
        raise RuntimeError("storages of another byte order and without a dtype cannot be loaded")
    itemsize = kind.itemsize // 2 if kind.dtype.is_complex else kind.itemsize
    data.view(f"u{itemsize}").byteswap(inplace=True)


__all__ = ["get_unsafe_globals_in_checkpoint", "load"]
