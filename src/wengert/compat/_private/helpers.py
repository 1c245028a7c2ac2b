"""``torch._utils``: devices, sizes of elements, many tensors as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from sys import exc_info as exc_info_now
from sys import modules
from types import ModuleType
from typing import Any

from wengert.compiler import is_compiling
from wengert.core.device import device as device_type
from wengert.core.dtypes import dtype as dtype_type
from wengert.core.layout import layout as layout_type
from wengert.core.layout import sparse_coo
from wengert.core.tensor import Tensor
from wengert.data.failures import Failure
from wengert.nn.parameter import Parameter
from wengert.ops.joining import cat
from wengert.sparse.construction import sparse_compressed_tensor, sparse_coo_tensor
from wengert.tensor import empty
from wengert.tensor.storages import TypedStorage


def _element_size(dtype: dtype_type) -> int:
    """The bytes of an element."""
    return dtype.itemsize


def _get_available_device_type() -> None:
    """None: there is no accelerator."""


def _get_device_module(device_type: str) -> ModuleType:
    """The module with a device's functions: `torch.cuda` for "cuda"."""
    if device_type not in ("cpu", "cuda", "mps", "xpu"):
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as"
            f" 'torch.{device_type}'."
        )
    return import_module(f"torch.{device_type}" if "torch" in modules else f"wengert.{device_type}")


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the CPU, which is refused unless `allow_cpu`."""
    if isinstance(device, int):
        return device
    if device is None and optional:
        return -1
    kind = device_type(device).type
    if kind == "cpu" and allow_cpu:
        return -1
    raise ValueError(f"Expected a non cpu device, but got: {device}")


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All elements in one vector."""
    return cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """A vector cut into tensors of the shapes of others."""
    parts, start = [], 0
    for t in tensors:
        parts.append(flat[start : start + t.numel()].view(t.shape))
        start += t.numel()
    return tuple(parts)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Tensors in groups of one dtype, each as large as the limit in bytes allows."""
    groups: dict[Any, list[Tensor]] = {}
    for t in tensors:
        group = groups.setdefault(t.dtype, [])
        if group and sum(x.nbytes for x in group) + t.nbytes > size_limit:
            yield group
            group = groups[t.dtype] = []
        group.append(t)
    yield from groups.values()


def _rebuild_tensor(
    storage: TypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """A tensor in a storage."""
    flat = empty(0, dtype=storage.dtype)
    return flat.set_(storage, storage_offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(
    storage: TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor in a storage, as pickles of tensors make it."""
    flat = _rebuild_tensor(storage, storage_offset, size, stride)
    return flat.requires_grad_(requires_grad)


def _rebuild_sparse_tensor(layout: layout_type, data: tuple[Any, ...]) -> Tensor:
    """A sparse tensor of its indices, its values and its shape."""
    if layout is sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(indices, values, size, is_coalesced=(*coalesced, None)[0])
    return sparse_compressed_tensor(*data, layout=layout)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any
) -> Parameter:
    """A parameter of some values, with the attributes of `state`."""
    parameter = Parameter(data, requires_grad)
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(parameter, name, value)
    return parameter


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A parameter of some values."""
    return Parameter(data, requires_grad)


class ExceptionWrapper(Failure):
    """The exception that is being handled, or that of `exc_info`, to be raised elsewhere."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        error: Any = (exc_info or exc_info_now())[1]
        super().__init__(error, where)
        self.exc_type, self.exc_msg, self.where = self.kind, self.message, where


__all__ = [
    "ExceptionWrapper",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_available_device_type",
    "_get_device_index",
    "_get_device_module",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_take_tensors",
    "_unflatten_dense_tensors",
    "is_compiling",
]
