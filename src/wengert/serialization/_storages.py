"""Storages: the memory behind tensors, as checkpoints describe it.

Tensors that share memory are saved as views of one storage, and restored as such.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core import dtypes
from wengert.core.float8 import in_use, is_float8
from wengert.core.storage import owner
from wengert.core.tensor import Tensor, leaf_of, wrap
from wengert.meta.tensors import NoData, without_memory
from wengert.serialization._state import short_repr
from wengert.tensor.storages import UntypedStorage

# What PyTorch calls the storages of each dtype; the newer dtypes have none of their own.
CLASSES = {
    "DoubleStorage": dtypes.float64, "FloatStorage": dtypes.float32,
    "HalfStorage": dtypes.float16, "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64, "IntStorage": dtypes.int32, "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexDoubleStorage": dtypes.complex128, "ComplexFloatStorage": dtypes.complex64,
}  # fmt: skip


class StorageClass(NamedTuple):
    """What a checkpoint means by ``torch.FloatStorage``; no dtype: bytes."""

    name: str
    dtype: dtypes.dtype | None

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return 1 if self.dtype is None else self.dtype.itemsize


TYPED = {name: StorageClass(name, dtype) for name, dtype in CLASSES.items()}
UNTYPED = StorageClass("UntypedStorage", None)
OF_DTYPE = {kind.dtype: kind for kind in TYPED.values()}


class Loaded(UntypedStorage):
    """A storage that was read, and the dtype that the checkpoint gave it."""

    __slots__ = ("_others", "dtype")

    def __init__(self, memory: np.ndarray, dtype: dtypes.dtype | None) -> None:
        super().__init__(memory)
        self.dtype = dtype
        self._others: dict[Any, Loaded] = {}

    def changed(self, conj: bool, neg: bool, dtype: dtypes.dtype | None) -> Loaded:
        """The storage that `finish` fills with the conjugated, negated numbers of this one.

        The same one for all who ask: a tensor may show a storage many times over.
        """
        key = conj, neg, dtype or self.dtype or dtypes.uint8
        if key not in self._others:
            bare = isinstance(self._owner, NoData)
            self._others[key] = self if bare else Loaded(np.zeros_like(self._owner), self.dtype)
        return self._others[key]

    def finish(self) -> None:
        """The numbers are there now."""
        for (conj, neg, dtype), other in self._others.items():
            usable = self._owner.nbytes - self._owner.nbytes % dtype.itemsize
            numbers = self._owner.view(np.uint8)[:usable].view(dtype.np)
            into = other._owner.view(np.uint8)[:usable].view(dtype.np)
            into[...] = numbers.conj() if conj else numbers
            if neg and dtype is not dtypes.bool_:
                np.negative(into, out=into)


class StorageView(NamedTuple):
    """An array as a view of memory: offset and strides count elements."""

    memory: np.ndarray
    offset: int
    strides: tuple[int, ...]


def view_of_storage(array: np.ndarray) -> StorageView:
    """The memory that an array shows, and how; a copy where PyTorch could not describe it."""
    base = owner(array)
    begin = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    size = array.itemsize
    if array.size == 0:
        base, begin = np.empty(0, array.dtype), 0
    elif (
        begin % size
        or base.nbytes % size
        or not _dense(base)
        or any(step < 0 or step % size for step in array.strides)
    ):
        base, begin = np.ascontiguousarray(array), 0
        array = base.reshape(array.shape)
    strides = Tensor.stride(wrap(array))
    return StorageView(base, begin // size, strides)


def _dense(array: np.ndarray) -> bool:
    """Whether the elements fill the memory from the first to the last, in any order."""
    step = array.itemsize
    for n, stride in sorted(zip(array.shape, array.strides, strict=True), key=lambda p: p[1]):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def rebuilt(
    storage: Loaded,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: bool = False,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The tensor that is this view of a storage.

    RuntimeError unless all of its elements lie in the storage.
    """
    dtype = dtype or storage.dtype or dtypes.uint8
    memory = storage._owner
    shape, steps = lengths("size", size), lengths("stride", stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"a tensor of {len(shape)} dimensions has {len(steps)} strides")
    (begin,) = lengths("storage_offset", (offset,))
    last = begin + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    need = 0 if 0 in shape else (last + 1) * dtype.itemsize
    if need > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {begin}, and"
            f" itemsize {dtype.itemsize} requiring a storage size of {need} are out of bounds for"
            f" storage of size {memory.nbytes}"
        )
    if requires_grad and dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "only Tensors of floating point dtype can require gradients; the file says that one"
            f" of {dtype} does"
        )
    if is_float8(dtype.np):
        in_use.note()
    try:
        tensor = _shown(memory, dtype.np, begin, shape, steps)
    except ValueError as error:  # more dimensions or elements than an array can have
        raise RuntimeError(f"a tensor of shape {list(shape)} cannot be made: {error}") from None
    if requires_grad:
        tensor._edge = leaf_of(tensor)
    return tensor


def _shown(
    memory: Any, dtype: Any, begin: int, shape: tuple[int, ...], steps: tuple[int, ...]
) -> Tensor:
    if not isinstance(memory, NoData):
        return wrap(_view(memory, dtype, begin, shape, steps))
    tensor = without_memory(shape, dtype, tuple([step * dtype.itemsize for step in steps]))
    tensor._array.show(memory, begin * dtype.itemsize)
    return tensor


def _view(
    memory: np.ndarray, dtype: Any, begin: int, shape: tuple[int, ...], steps: tuple[int, ...]
) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, dtype)
    size = dtype.itemsize
    strides = [step * size for step in steps]
    return np.ndarray(shape, dtype, memory, begin * size, strides)


def lengths(name: str, values: Any) -> tuple[int, ...]:
    """A tuple of numbers of elements."""
    if not isinstance(values, tuple | list):
        raise RuntimeError(f"{name} of a tensor is a {type(values).__name__}, not a tuple")
    for value in values:
        if type(value) is not int or not 0 <= value < 1 << 63:
            raise RuntimeError(
                f"{name} of a tensor has {short_repr(value)} where a length should be"
            )
    return tuple(values)
