"""DLPack: memory that is shared with other libraries.

NumPy makes and reads the capsules. bfloat16, which it does not know, goes as unsigned integers
whose type is rewritten in the capsule.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

# Where a capsule says the kind of its elements, in bytes from the start, by its name; and kinds.
_KIND_AT = {b"dltensor": 20, b"dltensor_versioned": 52}
_UNSIGNED, _BRAIN = 1, 4
_BFLOAT16, _UINT16 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.uint16)


def capsule_of(array: np.ndarray, options: dict[str, Any]) -> Any:
    """A capsule of an array's memory, as ``__dlpack__`` returns it."""
    if options.pop("stream", None) not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if array.dtype != _BFLOAT16:
        return array.__dlpack__(**options)
    capsule = array.view(_UINT16).__dlpack__(**options)
    _set_kind(capsule, _BRAIN)
    return capsule


def array_of(source: Any, copy: bool | None) -> np.ndarray:
    """An array in the memory of a capsule, or of an object that makes one."""
    if not hasattr(source, "__dlpack__"):
        if not _is_new(source):
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be"
                f" consumed only once; expected one, or an object with __dlpack__, got {source!r}"
            )
        source = _Offered(source)
    elif str(getattr(source, "dtype", "")).endswith("bfloat16"):
        source = _Offered(source.__dlpack__())
    if not isinstance(source, _Offered):
        return np.from_dlpack(source, copy=copy)
    brain = _kind(source.capsule).value == _BRAIN
    if brain:
        _set_kind(source.capsule, _UNSIGNED)
    array = np.from_dlpack(source)
    array = array.copy() if copy else array
    return array.view(_BFLOAT16) if brain else array


class _Offered:
    """A capsule, as an object that makes it."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _is_new(value: Any) -> bool:
    return type(value).__name__ == "PyCapsule" and '"dltensor' in repr(value)


def _kind(capsule: Any) -> ctypes.c_uint8:
    name = b"dltensor_versioned" if "_versioned" in repr(capsule) else b"dltensor"
    return ctypes.c_uint8.from_address(_pointer(capsule, name) + _KIND_AT[name])


def _set_kind(capsule: Any, kind: int) -> None:
    _kind(capsule).value = kind
