"""``torch.types``: names for annotations."""

from __future__ import annotations

import builtins
import os
from typing import IO, Any, TypeAlias

from wengert.core.device import device as device
from wengert.core.dtypes import dtype as dtype
from wengert.core.layout import layout as layout
from wengert.core.size import Size as Size
from wengert.core.tensor import Tensor as Tensor
from wengert.tensor.storages import UntypedStorage as Storage

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
_TensorOrTensors: TypeAlias = Any
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_int, _float, _bool = builtins.int, builtins.float, builtins.bool

__all__ = ["Device", "FileLike", "Number", "Storage"]
