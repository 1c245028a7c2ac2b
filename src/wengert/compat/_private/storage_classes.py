"""The classes of storages by dtype that ``torch`` had first: ``torch.FloatStorage`` and its kin."""

from __future__ import annotations

from typing import Any

from wengert.core import dtypes
from wengert.tensor.storages import TypedStorage, UntypedStorage


class _OfDtype(type):
    """The type of such a class: its instances are the `TypedStorage` of its dtype."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None) -> TypedStorage:
        """A storage of zeros, of some elements, or of the memory of another one."""
        if len(args) > 1 or any(isinstance(a, (TypedStorage, UntypedStorage)) for a in args):
            kinds = ", ".join(type(a).__name__ for a in args)
            raise TypeError(
                f"{cls.__name__}() takes no argument, a number of elements, a sequence of them or"
                f" wrap_storage=, not ({kinds})"
            )
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _of(name: str, dtype: dtypes.dtype) -> _OfDtype:
    body = {"dtype": dtype, "__module__": "torch", "__slots__": ()}
    return _OfDtype(name, (TypedStorage,), body)


BoolStorage = _of("BoolStorage", dtypes.bool_)
ByteStorage = _of("ByteStorage", dtypes.uint8)
CharStorage = _of("CharStorage", dtypes.int8)
ShortStorage = _of("ShortStorage", dtypes.int16)
IntStorage = _of("IntStorage", dtypes.int32)
LongStorage = _of("LongStorage", dtypes.int64)
HalfStorage = _of("HalfStorage", dtypes.float16)
BFloat16Storage = _of("BFloat16Storage", dtypes.bfloat16)
FloatStorage = _of("FloatStorage", dtypes.float32)
DoubleStorage = _of("DoubleStorage", dtypes.float64)
ComplexFloatStorage = _of("ComplexFloatStorage", dtypes.complex64)
ComplexDoubleStorage = _of("ComplexDoubleStorage", dtypes.complex128)

__all__ = [
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
]
