"""The writer of pickles: pickle's own, with PyTorch's names for what is wengert's."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.device import device
from wengert.core.dtypes import dtype, of_numpy
from wengert.core.layout import layout, memory_format
from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor
from wengert.core.tensor import Tensor, Tracer, wrap
from wengert.meta.tensors import MetaTensor
from wengert.nn.parameter import Parameter
from wengert.serialization._names import KNOWN, FunctionName, path_of
from wengert.serialization._storages import (
    OF_DTYPE,
    UNTYPED,
    StorageClass,
    view_of_storage,
)
from wengert.tensor.storages import UntypedStorage

_CONSTANTS = (StorageClass, dtype, memory_format, FunctionName)


class _Reference(NamedTuple):
    """Stands for a storage in a pickle."""

    identity: tuple[Any, ...]


def _function(path: str) -> FunctionName:
    value: FunctionName = KNOWN[path].value
    return value


_V2 = _function("torch._utils._rebuild_tensor_v2")
_V3 = _function("torch._utils._rebuild_tensor_v3")
_PARAMETER = _function("torch._utils._rebuild_parameter")
_PARAMETER_WITH_STATE = _function("torch._utils._rebuild_parameter_with_state")
_FROM_TYPE = _function("torch._tensor._rebuild_from_type_v2")
_GET_LAYOUT = _function("torch.serialization._get_layout")
_META = _function("torch._utils._rebuild_meta_tensor_no_storage")
_SPARSE = _function("torch._utils._rebuild_sparse_tensor")


_Base: Any = pickle._Pickler  # the one in Python: its names can be changed


class Pickler(_Base):  # type: ignore[misc]
    """Writes one object into a file, and remembers the storages that it referred to."""

    def __init__(self, file: Any, protocol: int, legacy: bool) -> None:
        super().__init__(file, protocol=protocol)
        self.legacy = legacy
        self.storages: dict[int, tuple[_Reference, np.ndarray]] = {}  # by the memory's id

    def persistent_id(self, value: Any) -> Any:
        """What stands for a storage; None for anything else."""
        if isinstance(value, UntypedStorage):
            return self.reference(value._owner, UNTYPED).identity
        return value.identity if type(value) is _Reference else None

    def reference(self, memory: np.ndarray, kind: StorageClass) -> _Reference:
        """The reference to a storage, which is new or has been referred to before."""
        entry = self.storages.get(id(memory))
        if entry is not None:
            if entry[0].identity[1] is not kind:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as"
                    f" different types: {entry[0].identity[1].name} and {kind.name}; clone() one"
                )
            return entry[0]
        key, numel = str(len(self.storages)), memory.nbytes // kind.itemsize
        identity: tuple[Any, ...] = ("storage", kind, key, "cpu", numel)
        reference = _Reference((*identity, None) if self.legacy else identity)
        self.storages[id(memory)] = reference, memory
        return reference

    def reducer_override(self, value: Any) -> Any:
        """How a value of wengert is pickled."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, _CONSTANTS):
            return path_of(value)[1]
        if isinstance(value, device):
            return device, (value.type,) if value.index is None else (value.type, value.index)
        if isinstance(value, layout):
            return _GET_LAYOUT, (repr(value),)
        if isinstance(value, FunctionType) or (isinstance(value, type) and _importable(value)):
            return value.__qualname__
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of a class, a function or a constant."""
        if not isinstance(obj, (*_CONSTANTS, type, FunctionType)):
            super().save_global(obj, name)
            return
        module, path = path_of(obj)
        if module.partition(".")[0] != "torch":
            super().save_global(obj, name)
            return
        if self.proto >= 4:
            self.save(module)
            self.save(path)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{path}\n".encode())
        self.memoize(obj)

    def _tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        if isinstance(tensor, SparseTensor):
            return _SPARSE, _sparse_components(tensor)
        kind, state = type(tensor), dict(tensor.__dict__)
        if hasattr(kind, "refuse_saving"):  # it is a part of something
            kind.refuse_saving()
        grad = tensor.requires_grad
        if isinstance(tensor, Parameter):
            data = tensor.detach()
            if state:
                return _PARAMETER_WITH_STATE, (data, grad, OrderedDict(), state)
            return _PARAMETER, (data, grad, OrderedDict())
        rebuild, arguments = self._plain(tensor)
        if kind in (Tensor, MetaTensor) and not state:
            return rebuild, arguments
        return _FROM_TYPE, (rebuild, kind, arguments, state)

    def _plain(self, tensor: Tensor) -> tuple[FunctionName, tuple[Any, ...]]:
        if isinstance(tensor, MetaTensor):
            dtype = of_numpy[tensor._array.dtype]
            return _META, (dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
        if isinstance(tensor, Tracer):
            raise RuntimeError("a tensor of a transform (vmap, grad, forward mode) cannot be saved")
        array = tensor._array
        memory, offset, strides = view_of_storage(array)
        kind = OF_DTYPE.get(of_numpy[array.dtype], UNTYPED)
        arguments: tuple[Any, ...] = (self.reference(memory, kind), offset, array.shape, strides,
                     tensor.requires_grad, OrderedDict())  # fmt: skip
        return (_V2, arguments) if kind.dtype else (_V3, (*arguments, of_numpy[array.dtype]))


def _sparse_components(tensor: SparseTensor) -> tuple[Any, ...]:
    """Layout, and indices, values and shape, as PyTorch saves them."""
    values, shape = tensor._stored.detach(), tensor.shape
    if isinstance(tensor, CooTensor):
        indices = wrap(tensor._coordinates)
        return tensor.layout, (indices, values, shape, tensor._coalesced)
    assert isinstance(tensor, CompressedTensor)
    return tensor.layout, (wrap(tensor._bounds), wrap(tensor._plain), values, shape)


def _importable(kind: type) -> bool:
    return kind not in (type(None), type(NotImplemented), type(...))
