"""``torch._C``: what packages ask of PyTorch's compiled core."""

from __future__ import annotations

from typing import Any

from wengert.autograd import is_grad_enabled, set_grad_enabled
from wengert.autograd.transforms.levels import Level, transform_stack
from wengert.compat._private.absent_types import ScriptObject
from wengert.compat._private.dispatch_keys import DispatchKey, DispatchKeySet
from wengert.compat._private.jit_switches import (
    _jit_override_can_fuse_on_cpu,
    _jit_override_can_fuse_on_gpu,
    _jit_set_profiling_executor,
    _jit_set_profiling_mode,
    _jit_set_texpr_fuser_enabled,
)
from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.generators import Generator
from wengert.core.layout import layout
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.jit import is_tracing
from wengert.linalg import LinAlgError
from wengert.overrides import _get_current_function_mode_stack
from wengert.tensor import get_default_device

_TensorMeta = type(Tensor)
TensorBase = _TensorBase = Tensor
_LinAlgError = LinAlgError


class Value:
    """The type of no value: nodes are those of `torch.fx`."""


class ScriptMethod:
    """The type of no method: those of programs are Python's."""


class Graph:
    """The type of no graph: graphs are those of `torch.fx`."""


def __getattr__(name: str) -> Any:
    if name in ("PyTorchFileReader", "PyTorchFileWriter"):  # bring serialization along
        from wengert.compat._private import record_files

        return getattr(record_files, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _get_tracing_state() -> Level | None:
    """The recording of `torch.jit.trace` that runs; None where there is none."""
    return next((x for x in transform_stack.levels if x.what == "tracing"), None)


def _is_tracing() -> bool:
    """Whether `torch.jit.trace` records."""
    return is_tracing()


def _is_torch_function_mode_enabled() -> bool:
    """Whether a `TorchFunctionMode` is entered."""
    return bool(_get_current_function_mode_stack())


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _get_accelerator(check: bool | None = None) -> device:
    """The CPU: there is no accelerator."""
    return device("cpu")


def _get_privateuse1_backend_name() -> str:
    """The name of the backend that nobody has added."""
    return "privateuseone"


def _are_functorch_transforms_active() -> bool:
    """Whether code runs inside of a transform such as `vmap`."""
    return bool(transform_stack.levels)


# What PyTorch was built with: the CPU's part alone.
_has_cuda = _has_cudnn = _has_magma = _has_mps = _has_xpu = False
has_lapack = True


def _is_alias_of(data: Tensor, other: Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    return data.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _cuda_isInBadFork() -> bool:  # noqa: N802
    """False: there is no CUDA that a fork could break."""
    return False


def _set_grad_enabled(enabled: bool) -> None:
    """Turn recording on or off."""
    set_grad_enabled(enabled)


def _get_default_device() -> str:
    """The kind of device that tensors are made on."""
    return get_default_device().type


__all__ = [
    "DispatchKey",
    "DispatchKeySet",
    "Generator",
    "Graph",
    "ScriptMethod",
    "ScriptObject",
    "Size",
    "TensorBase",
    "Value",
    "_LinAlgError",
    "_TensorBase",
    "_TensorMeta",
    "_are_functorch_transforms_active",
    "_cuda_isInBadFork",
    "_get_accelerator",
    "_get_default_device",
    "_get_privateuse1_backend_name",
    "_get_tracing_state",
    "_has_cuda",
    "_has_cudnn",
    "_has_magma",
    "_has_mps",
    "_has_xpu",
    "_is_alias_of",
    "_is_torch_function_mode_enabled",
    "_is_tracing",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_log_api_usage_once",
    "_set_grad_enabled",
    "device",
    "dtype",
    "has_lapack",
    "is_grad_enabled",
    "layout",
]
