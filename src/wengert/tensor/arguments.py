"""Shared arguments of functions that create tensors: sizes, dtypes, and other options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, TypedDict

import numpy as np

from wengert.autograd import errors
from wengert.core import dtypes
from wengert.core.device import default_device, on_meta
from wengert.core.device import device as device_type
from wengert.core.float8 import in_use, is_float8
from wengert.core.layout import strided
from wengert.core.outline import Outline
from wengert.core.tensor import Tensor, leaf_of, wrap
from wengert.meta.dense import rows
from wengert.meta.tensors import MetaTensor, without_memory
from wengert.ops.outputs import check_unrecorded, fill

NOT_FLOATING = "Only Tensors of floating point and complex dtype can require gradients"


class Options(TypedDict, total=False):
    """The keyword arguments of functions that create tensors.

    Attributes:
        dtype: of the elements; the meaning of None depends on the function.
        device: the CPU, or the meta device.
        requires_grad: whether the result is a leaf that requires grad.
        layout: strided, the default.
        pin_memory: must be False, for lack of an accelerator.
    """

    dtype: Any
    device: Any
    requires_grad: bool
    layout: Any
    pin_memory: bool


_KNOWN = Options.__annotations__.keys()
_ONLY_DTYPE = {"dtype"}


def size_of(name: str, size: Any) -> tuple[int, ...]:
    """The shape given by varargs or by one tuple, list, or Size."""
    if len(size) == 1:
        if isinstance(size[0], (tuple, list)):
            size = size[0]
    elif size and isinstance(size[0], (tuple, list)):
        raise TypeError(f"{name}() takes 1 positional argument but {len(size)} were given")
    for n in size:
        if type(n) is not int or n < 0:
            return _checked_size(name, size)
    return tuple(size)


def _checked_size(name: str, size: Any) -> tuple[int, ...]:
    """The same of lengths that are not all plain ints; as in PyTorch, the first is no bool."""
    lengths: list[int] = []
    for n in size:
        try:
            if isinstance(n, bool) and not lengths:
                raise TypeError
            lengths.append(index(n))
        except TypeError:
            raise TypeError(
                f"{name}(): argument 'size' (position 1) must be tuple of ints, not"
                f" {type(n).__name__}"
            ) from None
    if lengths and min(lengths) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(lengths)}: {lengths} in {name}()"
        )
    return tuple(lengths)


def dtype_of(name: str, options: Options, otherwise: Any = None) -> dtypes.dtype:
    """The dtype requested by the options, else `otherwise`, else the default."""
    requested = options.get("dtype")
    if requested is None:
        return otherwise or dtypes.defaults.dtype
    dtype = dtypes.of_argument(name, requested)
    if is_float8(dtype.np):
        in_use.note()
    return dtype


def allocate(
    make: Callable[..., np.ndarray],
    shape: Any,
    dtype: dtypes.dtype,
    options: Options | None = None,
    order: Sequence[int] | None = None,
) -> Any:
    """``make(shape, dtype)``; RuntimeError if there is not enough memory.

    An outline if the options ask for the meta device; `order` lists its dimensions from the
    outermost in memory.
    """
    if options is not None and on_meta(options.get("device")):
        return without_memory(shape, dtype.np, rows(shape, dtype.np, order))._array
    try:
        return make(shape, dtype.np)
    except (MemoryError, ValueError) as error:
        raise no_memory(shape, dtype, error) from error


def no_memory(shape: Any, dtype: dtypes.dtype, error: Exception) -> RuntimeError:
    """The error where NumPy cannot make an array."""
    return RuntimeError(
        f"DefaultCPUAllocator: can't allocate memory for a tensor of shape {list(shape)} and"
        f" dtype {dtype}: {error}"
    )


def only_dtype(options: Any) -> bool:
    """Whether nothing is asked for but a dtype, and tensors are made on the CPU."""
    return not default_device.meta and (not options or options.keys() == _ONLY_DTYPE)


def finish(
    name: str, array: np.ndarray | Outline, options: Options, out: Tensor | None = None
) -> Tensor:
    """Wrap a new array in a tensor, applying the options that do not concern its elements."""
    if out is not None:
        return into(name, out, array, options)
    if only_dtype(options):
        return wrap(array)
    if not options.keys() <= _KNOWN:
        unknown = sorted(options.keys() - _KNOWN)
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown[0]}'")
    meta = on_meta(options.get("device"))
    if options.get("layout") not in (None, strided):
        raise NotImplementedError(
            f"{name}(): argument 'layout' is {options['layout']}, expected torch.strided: make a"
            " dense tensor and convert it with .to_sparse(), or call torch.sparse_coo_tensor()"
        )
    if options.get("pin_memory"):
        raise RuntimeError(
            f"{name}(): pin_memory=True requires an accelerator, and this library computes on 'cpu'"
        )
    if not meta:
        return leaf(name, wrap(array), options.get("requires_grad", False))
    tensor = without_memory(array.shape, array.dtype, array.strides, options.get("device"))
    return leaf(name, tensor, options.get("requires_grad", False))


def leaf(name: str, tensor: Tensor, requires_grad: Any) -> Tensor:
    """A new tensor, as a leaf of the graph if it requires grad."""
    if requires_grad is False:
        return tensor
    if type(requires_grad) is not bool:
        raise TypeError(
            f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
    if tensor._outline.dtype not in dtypes.inexact:
        raise RuntimeError(errors.integer_requires_grad(
            f"{NOT_FLOATING}; {name}() got requires_grad=True with dtype",
            dtypes.of_numpy[tensor._outline.dtype], f"{name}()",
        ))  # fmt: skip
    tensor._edge = leaf_of(tensor)
    return tensor


def into(name: str, out: Tensor, array: np.ndarray | Outline, options: Options) -> Tensor:
    """Put an array into the tensor given as `out`, which takes its shape and keeps its dtype."""
    require_tensor(name, "out", out)
    check_unrecorded(name, (out,))
    dtype = dtypes.of_numpy[out._outline.dtype]
    if options.get("dtype") is not None and dtypes.of_argument(name, options["dtype"]) is not dtype:
        raise RuntimeError(
            f"dtype {options['dtype']} does not match dtype of out parameter ({dtype}) in {name}()"
        )
    if out._outline.shape != array.shape:
        out.resize_(array.shape)
    if isinstance(out, MetaTensor):
        return out
    if isinstance(array, Outline):
        raise array.refusal()
    return fill(name, out, wrap(array.astype(dtype.np, copy=False)))


def require_tensor(name: str, argument: str, value: Any, position: int = 1) -> None:
    """Raise unless the value is a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not"
            f" {type(value).__name__}"
        )


def require_int(name: str, argument: str, value: Any, position: int = 1) -> int:
    """The value as an int; TypeError unless it is one, or a tensor or scalar that holds one."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)
    except TypeError:
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be int, not"
            f" {type(value).__name__}"
        ) from None


_TO = frozenset({"dtype", "device", "other", "non_blocking", "copy", "memory_format"})


def dtype_and_device(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any, bool]:
    """dtype, device and `copy` of a call of `to`."""
    if not options.keys() <= _TO:
        unknown = sorted(options.keys() - _TO)[0]
        raise TypeError(f"to() got an unexpected keyword argument '{unknown}'")
    dtype, device, other = (options.get(k) for k in ("dtype", "device", "other"))
    remaining = list(args)
    if remaining:
        first = remaining.pop(0)
        if isinstance(first, Tensor):
            other = first
        elif isinstance(first, (dtypes.dtype, type)):
            dtype = first
        elif first is None or isinstance(first, (str, int, device_type)):
            device = first
            if remaining and not isinstance(remaining[0], bool):
                dtype = remaining.pop(0)
        else:
            raise TypeError(
                "to() received an invalid combination of arguments - got"
                f" ({type(first).__name__}), expected a dtype, a device or a Tensor"
            )
    if remaining and not all(isinstance(flag, bool) for flag in remaining[:2]):
        raise TypeError(
            f"to() received an invalid combination of arguments - got {type(remaining[0]).__name__}"
            f" after {type(args[0]).__name__}"
        )
    if other is not None:
        require_tensor("to", "other", other)
        dtype, device = other.dtype, other.device
    copied = bool(options.get("copy") or (len(remaining) > 1 and remaining[1]))
    return None if dtype is None else dtypes.of_argument("to", dtype), device, copied
