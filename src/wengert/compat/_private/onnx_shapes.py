"""``torch.onnx.operators``: shapes as tensors."""

from __future__ import annotations

from wengert.compat._private.top import _shape_as_tensor as shape_as_tensor
from wengert.core.tensor import Tensor


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """`reshape` to a shape in a tensor."""
    return x.reshape(shape.tolist())


__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]
