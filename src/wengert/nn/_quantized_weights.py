"""Weights in eight-bit integers among the buffers of a module, and products with them."""

from __future__ import annotations

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, wrap
from wengert.kernels import quantization as kernels
from wengert.nn.module import Module


def keep_quantized(module: Module, name: str, scale: str, weight: Tensor, by_row: bool) -> None:
    """Have a module keep a weight as integers, in two buffers."""
    if weight.dtype is not dtypes.float32:
        raise RuntimeError(
            f"quantize_dynamic: a layer must have weights of torch.float32, got {weight.dtype}"
        )
    integers, scales = kernels.quantized_weight(weight._array, by_row)
    module.register_buffer(name, wrap(integers))
    module.register_buffer(scale, wrap(scales))


def product(rows: np.ndarray, weight: Tensor, scale: Tensor, bias: Tensor | None) -> np.ndarray:
    """Rows times a weight in integers, in float32."""
    out, unit = kernels.product(rows, weight._array)
    out *= (unit * scale._array.astype(np.float64)).astype(out.dtype)
    if bias is not None:
        out += bias._array
    return out.astype(np.float32, copy=False)
