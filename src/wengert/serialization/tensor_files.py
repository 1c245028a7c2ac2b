"""Files of the safetensors format: a dictionary of tensors and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, wrap

SUFFIX = ".safetensors"

_DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "I16": dtypes.int16,
    "I32": dtypes.int32, "I64": dtypes.int64, "U16": dtypes.uint16, "U32": dtypes.uint32,
    "U64": dtypes.uint64, "F16": dtypes.float16, "BF16": dtypes.bfloat16,
    "F32": dtypes.float32, "F64": dtypes.float64, "C64": dtypes.complex64,
}  # fmt: skip


def dumps(tensors: Any) -> bytes:
    """A dictionary of tensors as a file; tensors that share memory are written apart."""
    from safetensors.numpy import save

    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)};"
                f" {SUFFIX} files hold nothing but tensors by name"
            )
        if tensor.dtype not in _DTYPES.values():
            raise ValueError(f"Key `{name}`: {SUFFIX} files cannot hold {tensor.dtype}")
        arrays[name] = np.ascontiguousarray(tensor._array).reshape(tensor._array.shape)
    return save(arrays)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name."""
    return loads(path.read_bytes(), str(path))


def loads(data: bytes, source: str) -> dict[str, Tensor]:
    """The tensors by name, in the order of the names: the format has none.

    RuntimeError, which names the source, for anything else.
    """
    import safetensors

    read: Any = safetensors.deserialize  # its stub has no types
    try:
        listed = read(data)
    except safetensors.SafetensorError as error:
        raise RuntimeError(f"{source} is no file of tensors: {error}") from None
    return {name: _tensor(name, entry) for name, entry in sorted(listed, key=lambda pair: pair[0])}


def _tensor(name: str, entry: Any) -> Tensor:
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise RuntimeError(f"{name!r} is of dtype {entry['dtype']}, which no tensor here has")
    data = np.array(np.frombuffer(entry["data"], np.uint8))  # a copy: to be written to, aligned
    try:
        return wrap(data.view(dtype.np).reshape(entry["shape"]))
    except ValueError as error:  # more dimensions than an array can have
        raise RuntimeError(f"{name!r} cannot be made: {error}") from None
