"""Making tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import _dtypes
from wengert._core import Tensor, tensors, wrap


def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    if type(data) in tensors:
        data = data._array
    array = np.array(data)
    if dtype is not None:
        array = array.astype(dtype.np)
    elif array.dtype == np.float64 and not isinstance(data, np.ndarray | np.generic):
        array = array.astype(_dtypes.defaults.dtype.np)
    out = wrap(array)
    return out.requires_grad_() if requires_grad else out


def from_numpy(array: np.ndarray) -> Tensor:
    return wrap(array)


def zeros(*size: Any, dtype: Any = None) -> Tensor:
    shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return wrap(np.zeros(shape, (dtype or _dtypes.defaults.dtype).np))


def zeros_like(input: Tensor) -> Tensor:
    return wrap(np.zeros_like(input._array))


__all__ = ["from_numpy", "tensor", "zeros", "zeros_like"]
