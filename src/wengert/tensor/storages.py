"""Storages: the memory behind tensors, as bytes and as elements of a dtype."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.device import cpu, device, on_meta
from wengert.core.dtypes import of_numpy
from wengert.core.messages import warn
from wengert.core.storage import owner
from wengert.core.tensor import Tensor, wrap
from wengert.meta.tensors import META, NoData
from wengert.ops.weights import pointed_to, shown
from wengert.tensor.arguments import leaf


def bytes_of(memory: np.ndarray) -> np.ndarray:
    """The bytes of dense memory, in memory order."""
    if not memory.size:
        return np.empty(0, np.uint8)
    order = sorted(range(memory.ndim), key=lambda d: -memory.strides[d])
    return memory.transpose(order).reshape(-1).view(np.uint8)


def elements_of(array: np.ndarray) -> np.ndarray:
    """All of an array's memory, as a flat array of its dtype."""
    base = owner(array)
    flat = base.ravel("K")
    if not np.may_share_memory(flat, base) and base.size:
        return array.ravel("K")  # not dense
    return flat.view(np.uint8)[: flat.nbytes // array.itemsize * array.itemsize].view(array.dtype)


class _Storage:
    """Base class of both kinds of storages."""

    __slots__ = ()

    is_cuda = is_sparse = False

    @property
    def device(self) -> device:
        """``cpu``; or ``meta``, where there is no memory."""
        return META if isinstance(self.untyped()._owner, NoData) else cpu

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        raise NotImplementedError

    def get_device(self) -> int:
        """Return -1: the CPU has no index."""
        return -1

    def cpu(self) -> Any:
        """The storage itself."""
        return self

    def _converted(self, dtype: dtypes.dtype) -> TypedStorage:
        """A copy of the elements in a dtype."""
        elements = np.asarray(self)
        with np.errstate(all="ignore"):
            memory = elements.astype(dtype.np)
        return TypedStorage(wrap_storage=UntypedStorage(memory), dtype=dtype)


class UntypedStorage(_Storage):
    """The memory behind one or several tensors, as bytes.

    Args:
        source: a number of zero bytes, or a sequence of bytes.
        device: the CPU, or the meta device.

    >>> import wengert
    >>> storage = wengert.tensor([1, 2], dtype=wengert.int16).untyped_storage()
    >>> len(storage), storage.tolist()
    (4, [1, 0, 2, 0])
    """

    __slots__ = ("_owner",)

    def __init__(self, source: Any = 0, *, device: Any = None) -> None:
        if isinstance(source, (np.ndarray, NoData)):
            self._owner: Any = source
        elif on_meta(device or cpu):
            count = source if isinstance(source, int) else len(source)
            self._owner = NoData((count,), np.dtype(np.uint8), (1,))
        elif isinstance(source, int):
            self._owner = np.zeros(source, np.uint8)
        else:
            self._owner = np.array(list(source), np.uint8)

    @classmethod
    def from_file(
        cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0
    ) -> UntypedStorage:
        """Map the first bytes of a file, read on first access.

        If `shared` is true, writes go to the file.
        """
        if not nbytes:
            return cls(0)
        if shared and not os.path.exists(filename):
            with open(filename, "wb") as file:
                file.truncate(nbytes)
        size = os.path.getsize(filename)
        if size < nbytes:
            raise RuntimeError(f"file {os.fspath(filename)!r} has {size} bytes, not {nbytes}")
        mode: Any = "r+" if shared else "c"
        return cls(np.asarray(np.memmap(filename, np.uint8, mode, shape=(nbytes,))))

    @property
    def _bytes(self) -> np.ndarray:
        if isinstance(self._owner, NoData):
            raise self._owner.refusal()
        return bytes_of(self._owner)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._bytes, dtype, copy=copy)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        if not self._owner.size or isinstance(self._owner, NoData):
            return 0
        pointed_to(self._owner)
        address: int = self._owner.__array_interface__["data"][0]
        return address

    def nbytes(self) -> int:
        """The length in bytes."""
        count: int = self._owner.nbytes
        return count

    size = __len__ = nbytes

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"storages are sliced with a step of 1, not {index.step}")
            return UntypedStorage(self._bytes[index])
        return self._bytes[_place(self, index)].item()

    def __setitem__(self, index: int | slice, value: int) -> None:
        self._bytes[index if isinstance(index, slice) else _place(self, index)] = value

    def tolist(self) -> list[int]:
        """The bytes."""
        listed: list[int] = self._bytes.tolist()
        return listed

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage(self._bytes.copy())

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Overwrite the bytes with those of another storage of this length."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was"
                f" {source.nbytes()} bytes"
            )
        self._bytes[...] = source._bytes
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        self._bytes[...] = value
        return self

    def is_shared(self) -> bool:
        """Whether `Tensor.share_memory_` moved the memory to shared memory."""
        shared: bool = wrap(self._owner).is_shared()
        return shared

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._owner is other._owner

    def __hash__(self) -> int:
        return id(self._owner)

    def __repr__(self) -> str:
        lines = "...\n"
        if self.device is cpu:
            lines = "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        )


class TypedStorage(_Storage):
    """The memory behind one or several tensors, as elements of a dtype.

    Args:
        args: a number of zero elements, or a sequence of elements.
        wrap_storage: the bytes, if they already exist.
        dtype: of the elements; the default dtype if None.
        device: the CPU, or the meta device.

    >>> import wengert
    >>> wengert.TypedStorage([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: dtypes.dtype | None = None,
        device: Any = None,
    ) -> None:
        self.dtype = dtypes.defaults.dtype if dtype is None else dtype
        if wrap_storage is None:
            source = args[0] if args else 0
            if on_meta(device or cpu):
                count = source if isinstance(source, int) else len(source)
                wrap_storage = UntypedStorage(count * self.dtype.itemsize, device=device)
            elif isinstance(source, int):
                wrap_storage = UntypedStorage(np.zeros(source, self.dtype.np))
            else:
                wrap_storage = UntypedStorage(np.array(source, self.dtype.np))
        self._untyped_storage = wrap_storage

    @property
    def _elements(self) -> np.ndarray:
        size = self.nbytes() // self.dtype.itemsize * self.dtype.itemsize
        return self._untyped_storage._bytes[:size].view(self.dtype.np)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._elements, dtype, copy=copy)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """The length in bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements[_place(self, index)].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[index if isinstance(index, slice) else _place(self, index)] = value

    def tolist(self) -> list[Any]:
        """The elements."""
        listed: list[Any] = self._elements.tolist()
        return listed

    def fill_(self, value: complex) -> TypedStorage:
        """Set every element."""
        self._elements[...] = value
        return self

    def copy_(self, source: _Storage, non_blocking: bool | None = None) -> TypedStorage:
        """Overwrite the memory with that of another storage of this many bytes."""
        self._untyped_storage.copy_(source.untyped())
        return self

    def type(self) -> str:
        """The name of PyTorch's storage class for this dtype, with its module."""
        return f"torch.{self.pickle_storage_type()}"

    def clone(self) -> TypedStorage:
        """A copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def is_shared(self) -> bool:
        """Whether `Tensor.share_memory_` moved the memory to shared memory."""
        return self._untyped_storage.is_shared()

    def pickle_storage_type(self) -> str:
        """The name of PyTorch's storage class for this dtype."""
        return f"{self.dtype.short}Storage"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedStorage) or self.dtype is not other.dtype:
            return False
        return self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        lines = "...\n"
        if self.device is cpu:
            lines = "".join(f" {value}\n" for value in self.tolist())
        kind = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        return f"{lines}[{kind} of size {self.size()}]"


def _place(storage: UntypedStorage | TypedStorage, index: Any) -> int:
    """The index of an element, from the front."""
    if not isinstance(index, (int, np.integer)) and isinstance(storage, UntypedStorage):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
    if not isinstance(index, (int, np.integer)):
        raise RuntimeError(f"can't index a {type(storage)} with {type(index)}")
    size = storage.size()
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return int(index)


def _conversion(name: str, dtype: dtypes.dtype) -> Any:
    def convert(self: _Storage) -> TypedStorage:
        return self._converted(dtype)

    convert.__name__, convert.__qualname__ = name, f"_Storage.{name}"
    convert.__doc__ = f"A copy of the elements as {dtype}."
    return convert


_CONVERSIONS = {
    "bfloat16": dtypes.bfloat16, "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8,
    "complex_double": dtypes.complex128, "complex_float": dtypes.complex64,
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16,
}  # fmt: skip
for _name, _dtype in _CONVERSIONS.items():
    setattr(_Storage, _name, _conversion(_name, _dtype))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of this tensor, possibly shared with others.

    >>> import wengert
    >>> wengert.zeros(4).untyped_storage().nbytes()
    16
    """
    return UntypedStorage(_memory(self))


def _memory(tensor: Tensor) -> Any:
    array = tensor._array
    if isinstance(array, NoData):
        return array.owner
    shown(array)
    return owner(array)


def storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor, as elements of its dtype.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings(action="ignore"):  # untyped_storage() is the new way
    ...     wengert.zeros(4)[1:].storage().size()
    4
    """
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be"
        " the only storage class; use tensor.untyped_storage() instead of tensor.storage()"
    )
    return TypedStorage(
        wrap_storage=UntypedStorage(_memory(self)), dtype=of_numpy[self._outline.dtype]
    )


def is_storage(obj: Any) -> bool:
    """Whether an object is a tensor's storage.

    >>> import wengert
    >>> wengert.is_storage(wengert.zeros(2).untyped_storage())
    True
    """
    return isinstance(obj, _Storage)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Create a 1-d tensor that shares the memory of a buffer.

    Args:
        buffer: an object with the buffer protocol, such as a bytearray.
        dtype: of the elements.
        count: the number of elements; -1 for all.
        offset: the number of bytes before the first one.
        requires_grad: whether the tensor requires grad.

    >>> import wengert
    >>> wengert.frombuffer(bytearray(b"abc"), dtype=wengert.uint8)
    tensor([97, 98, 99], dtype=torch.uint8)
    """
    kind = dtypes.of_argument("frombuffer", dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(
            f"object does not implement Python buffer protocol: {type(buffer).__name__}"
        ) from None
    length, size = view.nbytes, kind.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length"
            f" ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a"
            f" multiple of element size ({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must"
            f" not be greater than actual buffer length ({length} bytes)"
        )
    if view.readonly:
        warn("The given buffer is not writable: writes to the tensor are refused.")
    array = np.frombuffer(view, kind.np, count, offset)
    return leaf("frombuffer", wrap(array), requires_grad)


def bind() -> None:
    """Give Tensor its storages."""
    define: Any = Tensor
    define.untyped_storage, define.storage = untyped_storage, storage


__all__ = ["TypedStorage", "UntypedStorage", "frombuffer", "is_storage"]
