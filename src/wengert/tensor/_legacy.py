"""The old constructors: `Tensor(2, 3)`, `FloatTensor([1, 2])`, `x.new(2)`, and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.device import check_cpu, cpu, default_device, device, on_meta
from wengert.core.dtypes import of_numpy
from wengert.core.inference import mark_inference
from wengert.core.layout import strided
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, inferences, new, wrap
from wengert.meta.tensors import META
from wengert.tensor import _data
from wengert.tensor.arguments import size_of


def construct(name: str, args: tuple[Any, ...], dtype: dtypes.dtype) -> np.ndarray:
    """The array for the arguments of an old constructor: a size, or data."""
    if not args:
        return np.empty(0, dtype.np)
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Tensor):
            return first._array
        if isinstance(first, np.ndarray):
            return _data.converted_array(_data.checked(first), dtype, copy=False)
        if type(first).__name__ == "Size":
            return np.empty(size_of(name, args), dtype.np)
        if isinstance(first, (list, tuple, str, range)):
            return _data.array_of(first, dtype)
        if first is None or isinstance(first, (bool, float, complex)):
            raise TypeError(f"{name}(): data must be a sequence (got {type(first).__name__})")
    return np.empty(size_of(name, args), dtype.np)


def _new_tensor(cls: type[Tensor], *args: Any, device: Any = None) -> Tensor:
    """`Tensor()`, `Tensor(2, 3)` (not set) and `Tensor([1, 2])`, in the default dtype."""
    check_cpu(device)
    self = new(cls)
    self._array = construct("new", args, dtypes.defaults.dtype)
    self._edge = self._cut = self._root = None
    if inferences:
        mark_inference(self)
    if len(args) == 1 and isinstance(args[0], Tensor) and args[0]._edge is not None:
        self._edge = args[0].view(args[0].shape)._edge
    return self


class tensortype(type):  # noqa: N801 (PyTorch's name)
    """The type of `FloatTensor` etc.: callable, with an instance check by dtype."""

    dtype: dtypes.dtype
    is_cuda = False
    is_sparse = False
    layout = strided

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        check_cpu(device)
        if len(args) == 1 and isinstance(args[0], Tensor):
            if args[0]._outline.dtype != cls.dtype.np:
                raise TypeError(
                    f"expected a tensor of dtype {cls.dtype} (got one of"
                    f" {of_numpy[args[0]._outline.dtype]}); convert it with .to({cls.dtype})"
                )
            return args[0].detach()
        return wrap(construct(cls.__name__, args, cls.dtype))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance._outline.dtype == cls.dtype.np

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _tensor_type(kind: dtypes.dtype) -> Any:
    name = f"{kind.short}Tensor"
    doc = f"Old constructor of {kind} tensors, and the type that they are instances of."
    return tensortype(name, (), {"dtype": kind, "__doc__": doc, "__module__": "torch"})


BoolTensor = _tensor_type(dtypes.bool_)
ByteTensor = _tensor_type(dtypes.uint8)
CharTensor = _tensor_type(dtypes.int8)
ShortTensor = _tensor_type(dtypes.int16)
IntTensor = _tensor_type(dtypes.int32)
LongTensor = _tensor_type(dtypes.int64)
HalfTensor = _tensor_type(dtypes.float16)
BFloat16Tensor = _tensor_type(dtypes.bfloat16)
FloatTensor = _tensor_type(dtypes.float32)
DoubleTensor = _tensor_type(dtypes.float64)

_TYPES = (BoolTensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor, HalfTensor,
          BFloat16Tensor, FloatTensor, DoubleTensor)  # fmt: skip
of_name: dict[str, dtypes.dtype] = {f"torch.{d.short}Tensor": d for d in dtypes.ALL}


def dtype_of_type(kind: Any) -> dtypes.dtype:
    """The dtype meant by `x.type(kind)`: a dtype, a tensor type, or the name of one."""
    if isinstance(kind, (dtypes.dtype, tensortype)):
        return kind if isinstance(kind, dtypes.dtype) else kind.dtype
    if kind is Tensor:
        return dtypes.defaults.dtype
    if isinstance(kind, str):
        if kind == "torch.Tensor":
            return dtypes.defaults.dtype
        if kind in of_name:
            return of_name[kind]
    elif not isinstance(kind, type):
        raise TypeError(f"dtype must be a type, str, or dtype object: type() got {kind!r}")
    name = kind.__name__ if isinstance(kind, type) else kind
    raise ValueError(f"invalid type: '{name}'")


def set_default_tensor_type(t: Any) -> None:
    """Make a tensor type's dtype the default. Deprecated: see `set_default_dtype`.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings(action="ignore"):
    ...     wengert.set_default_tensor_type(wengert.FloatTensor)
    """
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use"
        " torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    dtypes.set_default_dtype(dtype_of_type(t))


def set_default_device(device: Any) -> None:
    """Set where this thread makes tensors when no device is given: the CPU (None), or meta.

    >>> import wengert
    >>> wengert.set_default_device("meta")
    >>> wengert.ones(2)
    tensor(..., device='meta', size=(2,))
    >>> wengert.set_default_device(None)
    """
    default_device.meta = device is not None and on_meta(device)


def get_default_device() -> device:
    """Return where this thread makes tensors when no device is given.

    >>> import wengert
    >>> wengert.get_default_device()
    device(type='cpu')
    """
    return META if default_device.meta else cpu


def bind() -> None:
    """Give Tensor its constructor. Tensors that operations make never go through it."""
    define: Any = Tensor
    define.__new__ = _new_tensor
    define.new = new_of


def new_of(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype, from a size or from data, as the old constructors.

    >>> import wengert
    >>> wengert.zeros(1).new([1, 2])
    tensor([1., 2.])
    """
    check_cpu(device)
    return wrap(construct("new", args, of_numpy[self._outline.dtype]))


__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "get_default_device",
    "set_default_device", "set_default_tensor_type",
]  # fmt: skip
