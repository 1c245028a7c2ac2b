"""Names of ``torch`` itself: checks that also hold while PyTorch traces."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from operator import not_
from typing import Any

from wengert.compat._private.absent_types import (
    DeviceObjType,
    Event,
    ScriptObject,
    Stream,
    SymBool,
    SymFloat,
    SymInt,
    TensorType,
)
from wengert.compat._private.quantization.rounding import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from wengert.compat._private.quantization.schemes import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    qint32,
    qscheme,
    quint2x4,
    quint4x2,
    quint8,
)
from wengert.core.conditions import _assert as _assert
from wengert.core.dtypes import INT, NamedDtype, bool_, dtype, int8, int32
from wengert.core.layout import contiguous_format as legacy_contiguous_format
from wengert.core.tensor import Tensor
from wengert.ops.matmul import mm as dsmm
from wengert.ops.operands import as_one_call
from wengert.tensor import tensor

spmm = dsmm  # older names of `mm`, from when sparse matrices had functions of their own


# Integers of less than a byte, likewise.
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (
    NamedDtype(f"uint{bits}", 1, INT, f"UInt{bits}") for bits in range(1, 8)
)
int1, int2, int3, int4, int5, int6, int7 = (
    NamedDtype(f"int{bits}", 1, INT, f"Int{bits}") for bits in range(1, 8)
)


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of int8, as int32."""
    for argument, matrix in (("self", self), ("mat2", mat2)):
        if matrix.dtype is not int8:
            raise RuntimeError(f"_int_mm: expected {argument} of dtype int8, got {matrix.dtype}")
    return dsmm(self.to(int32), mat2.to(int32))


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The shape, as a tensor of integers."""
    return tensor(list(self.shape))


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype
) -> Tensor:
    """The gradient of the input of a softmax, from that of its output."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


# Of sizes that are numbers; PyTorch's may be symbols.
sym_int, sym_float, sym_not = int, float, not_
sym_max, sym_min = max, min


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of sizes."""
    return sum(args)


# Names whose modules bring along others: all of `nn`, autocast.
_LATER = {
    "embedding_bag": "embedding_bags",
    **dict.fromkeys(("PyTorchFileReader", "PyTorchFileWriter"), "record_files"),
    **dict.fromkeys(
        (
            "_chunk_cat",
            "_convolution",
            "_is_all_true",
            "_is_any_true",
            "_log_softmax",
            "_safe_softmax",
            "_softmax",
        ),
        "underscored",
    ),
    **dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d", "segment_reduce"), "native_functions"),
    **dict.fromkeys(
        ("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"),
        "index_conversions",
    ),
    **dict.fromkeys(
        (
            "autocast_decrement_nesting",
            "autocast_increment_nesting",
            "set_autocast_cpu_dtype",
            "set_autocast_cpu_enabled",
            "set_autocast_gpu_dtype",
        ),
        "autocast_switches",
    ),
    **dict.fromkeys(
        (
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
        ),
        "storage_classes",
    ),
}


# Older names of functions of sparse matrices.
_OLDER = {"hsmm": "hspmm", "saddmm": "sspaddmm"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__package__}.{_LATER[name]}"), name)
    if name in _OLDER:
        return getattr(importlib.import_module("wengert"), _OLDER[name])
    if name == "Future":  # brings threads along
        from wengert.distributed.futures import Future

        return Future
    if name in ("ScriptFunction", "ScriptModule"):
        return getattr(importlib.import_module("wengert.jit"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def set_vital(vital: str, attr: str, value: str) -> bool:
    """False: facts about a run are not collected."""
    return False


def _assert_async(condition: Any, message: str | None = None) -> None:
    """RuntimeError, unless the condition holds; at once, since nothing runs beside."""
    level = as_one_call(condition)
    if level is not None:
        level.demand(_assert_async, condition, message)
    elif not condition:
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _check_with(error: type[Exception], condition: Any, message: Any = None) -> None:
    """An error of a class, unless the condition holds."""
    if isinstance(condition, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            "torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(condition, bool):
        raise TypeError(f"cond must be a bool, but got {type(condition)}")
    if not condition:
        if message is not None and not callable(message):
            raise TypeError("message must be a callable")
        text = "Expected cond to be True, but got False."
        raise error(text if message is None else str(message()))


def _check_tensor_all_with(error: type[Exception], cond: Any, message: Any = None) -> None:
    """An error of a class, unless all elements of a tensor are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error, bool(cond.all().item()), message)


def _check_tensor_all(cond: Any, message: Callable[[], str] | None = None) -> None:
    """RuntimeError, unless all elements of a tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], str] | None = None) -> None:
    """NotImplementedError, unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """RuntimeError, with what `message` returns, unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], str] | None = None) -> None:
    """IndexError, unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], str] | None = None) -> None:
    """ValueError, unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], str] | None = None) -> None:
    """TypeError, unless the condition holds."""
    _check_with(TypeError, cond, message)


__all__ = [
    "DeviceObjType",
    "Event",
    "ScriptObject",
    "Stream",
    "SymBool",
    "SymFloat",
    "SymInt",
    "TensorType",
    "_assert",
    "_assert_async",
    "_check",
    "_check_index",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
    "_int_mm",
    "_shape_as_tensor",
    "_softmax_backward_data",
    "dsmm",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "legacy_contiguous_format",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint8",
    "qint32",
    "qscheme",
    "quint2x4",
    "quint4x2",
    "quint8",
    "set_vital",
    "spmm",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
]
