"""Attributes of a Tensor that only look: shape, dtype, device, sizes."""

from __future__ import annotations

from typing import Any

from wengert import _dtypes
from wengert._core import Tensor
from wengert._size import Size
from wengert.ops.casting import convert


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    define.shape = property(lambda self: Size(self._array.shape))
    define.dtype = property(lambda self: _dtypes.of_numpy[self._array.dtype])
    define.ndim = property(lambda self: self._array.ndim)
    define.numpy = lambda self: self._array
    define.item = lambda self: self._array.item()
    define.tolist = lambda self: self._array.tolist()
    define.to = lambda self, dtype: convert(self, dtype)
