"""``torch.sparse``: the old constructors, `torch.sparse.FloatTensor` and others."""

from __future__ import annotations

from typing import Any

from wengert.core import dtypes
from wengert.core.layout import sparse_coo
from wengert.core.messages import warn
from wengert.core.tensor import Tensor
from wengert.sparse.construction import sparse_coo_tensor


class _SparseType(type):
    """Callable, with an instance check by layout and dtype; a tensor of values keeps its dtype."""

    dtype: dtypes.dtype
    is_cuda = False
    is_sparse = True
    layout = sparse_coo

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        warn(
            f"torch.sparse.{cls.__name__} is deprecated.  Please use torch.sparse_coo_tensor("
            "indices, values, shape, dtype=, device=)."
        )
        if args and isinstance(args[0], Tensor):
            return sparse_coo_tensor(*args, device=device)  # of the values' dtype
        size = args[0] if args and not isinstance(args[0], int) else args or (0,)
        return sparse_coo_tensor(size=size, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.layout is sparse_coo
            and instance.dtype is cls.dtype
        )

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _sparse_type(dtype: dtypes.dtype) -> Any:
    name = f"{dtype.short}Tensor"
    return _SparseType(name, (), {"dtype": dtype, "__module__": "torch.sparse"})


BFloat16Tensor = _sparse_type(dtypes.bfloat16)
ByteTensor = _sparse_type(dtypes.uint8)
CharTensor = _sparse_type(dtypes.int8)
DoubleTensor = _sparse_type(dtypes.float64)
FloatTensor = _sparse_type(dtypes.float32)
HalfTensor = _sparse_type(dtypes.float16)
IntTensor = _sparse_type(dtypes.int32)
LongTensor = _sparse_type(dtypes.int64)
ShortTensor = _sparse_type(dtypes.int16)

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]
