"""Creation of tensors."""

from __future__ import annotations

import math
from array import array
from mmap import mmap
from typing import Any, Unpack

import numpy as np

from wengert.autograd.transforms.levels import beside
from wengert.core import dtypes
from wengert.core.device import check_cpu, cpu, default_device, on_meta
from wengert.core.dtypes import of_numpy
from wengert.core.layout import contiguous_format, preserve_format
from wengert.core.messages import warn
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor, Tracer, wrap
from wengert.kernels import layout
from wengert.meta.tensors import META, MetaTensor, like, moved, without_memory
from wengert.ops import formats
from wengert.ops.casting import convert
from wengert.tensor import _data, exchange
from wengert.tensor._entries import without_entries
from wengert.tensor.arguments import (
    Options,
    allocate,
    dtype_of,
    finish,
    leaf,
    only_dtype,
    require_int,
    require_tensor,
    size_of,
)
from wengert.tensor.storages import frombuffer

Size = Any  # ints, or one tuple or list of ints


def tensor(data: Any, **options: Unpack[Options]) -> Tensor:
    """Create a tensor from numbers, nested sequences, a NumPy array or scalar; copies the data.

    Python floats get the default dtype, ints int64; mixed kinds get the widest.

    >>> import wengert
    >>> wengert.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use"
            " sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True),"
            " rather than torch.tensor(sourceTensor)."
        )
    dtype = options.get("dtype")
    if dtype is not None:
        dtype = dtypes.of_argument("tensor", dtype)
    if isinstance(data, MetaTensor):
        return _copied(data, dtype, options)
    result = finish("tensor", _data.array_of(data, dtype), options)
    result._cut = _data.cut_of(data, "tensor()")
    return result


def _copied(data: MetaTensor, dtype: dtypes.dtype | None, options: Options) -> Tensor:
    """What `tensor` makes of a meta tensor."""
    options["device"] = options.get("device") or data.device
    copy = moved(data.detach(), options["device"])
    array = copy._array if dtype is None else convert(copy, dtype)._array
    return finish("tensor", array, options)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Convert `data` to a tensor, sharing memory (and keeping the graph) if the dtype allows.

    >>> import numpy, wengert
    >>> array = numpy.zeros(2)
    >>> t = wengert.as_tensor(array)
    >>> array[0] = 1
    >>> t
    tensor([1., 0.], dtype=torch.float64)
    """
    array_dtype = None if dtype is None else dtypes.of_argument("as_tensor", dtype)
    if on_meta(device):
        source = data if isinstance(data, Tensor) else as_tensor(data, dtype, cpu)
        outline = moved(source, META)
        return outline if array_dtype is None else convert(outline, array_dtype)
    if isinstance(data, Tensor):
        data = data if device is None else moved(data, device)
        return data if array_dtype is None else convert(data, array_dtype)
    array = _shared(data)
    if array is None:
        result = wrap(_data.array_of(data, array_dtype))
        result._cut = _data.cut_of(data, "as_tensor()")
        return result
    return wrap(_data.converted_array(array, array_dtype, copy=False))


def _shared(data: Any) -> np.ndarray | None:
    """The array whose memory a tensor can share, if any."""
    if isinstance(data, np.ndarray):
        return _data.checked(np.asarray(data))
    if isinstance(data, (np.generic, list, tuple, int, float, complex)):
        return None
    return _data.array_from_protocol(data)


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Convert `obj` to a tensor: a copy if `copy` is True, never one (or ValueError) if False.

    Bytes and other buffers are elements of `dtype`, as for `frombuffer`.

    >>> import wengert
    >>> wengert.asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    if isinstance(obj, (bytes, bytearray, memoryview, array, mmap)):
        kind = dtypes.defaults.dtype if dtype is None else dtype
        obj, dtype = frombuffer(obj, dtype=kind), None
    if copy is False and not isinstance(obj, Tensor) and _shared(obj) is None:
        raise ValueError(f"can't alias arbitrary sequence into a tensor: {type(obj).__name__}")
    source = as_tensor(obj, device=device)
    array_dtype = of_numpy[source._outline.dtype]
    if dtype is not None:
        array_dtype = dtypes.of_argument("asarray", dtype)
    if copy is False and array_dtype.np != source._outline.dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{of_numpy[source._outline.dtype].short}' into dtype"
            f" '{array_dtype.short}'."
        )
    result = convert(source, array_dtype)
    if copy and result._array is source._array:
        result = result.clone()
    if requires_grad is False:
        return result.detach() if result._edge is not None else result
    if requires_grad and result._edge is None:
        return leaf("asarray", wrap(result._array), True)
    return result


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Create a tensor that shares the memory of a NumPy array.

    Raises TypeError for other objects and for unsupported dtypes.

    >>> import numpy, wengert
    >>> wengert.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = kind.__name__ if kind.__module__ == "builtins" else f"numpy.{kind.__name__}"
        raise TypeError(f"expected np.ndarray (got {name})")
    return wrap(_data.checked(np.asarray(ndarray)))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Create a tensor that shares the memory of another library's, through DLPack.

    Args:
        ext_tensor: an object with ``__dlpack__``, or a capsule that such a method returned.
        device: the CPU.
        copy: True for memory of its own.

    >>> import numpy, wengert
    >>> wengert.from_dlpack(numpy.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    check_cpu(device)
    return wrap(_data.checked(exchange.array_of(ext_tensor, copy)))


def zeros(*size: Size, out: Tensor | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of zeros.

    >>> import wengert
    >>> wengert.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return _sized("zeros", np.zeros, size, out, options)


def ones(*size: Size, out: Tensor | None = None, **options: Unpack[Options]) -> Tensor:
    """A tensor of ones.

    >>> import wengert
    >>> wengert.ones(2, dtype=wengert.int64)
    tensor([1, 1])
    """
    return _sized("ones", _ones, size, out, options)


def _ones(shape: Any, dtype: Any) -> np.ndarray:
    return layout.full(shape, dtype, 1)


def empty(*size: Size, out: Tensor | None = None, memory_format: Any = None,
          **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """A tensor of this size with uninitialized elements.

    >>> import wengert
    >>> wengert.empty(2, 3).shape
    torch.Size([2, 3])
    """
    format = formats.check_format("empty", memory_format, contiguous_format)
    if format is preserve_format:
        raise RuntimeError("empty(): unsupported memory format torch.preserve_format")

    def make(shape: Any, dtype: Any) -> np.ndarray:
        return layout.empty(shape, dtype, formats.order_in(format, len(shape)))

    if format is contiguous_format:
        return _sized("empty", np.empty, size, out, options)
    return _sized("empty", make, size, out, options, format)


def _sized(
    name: str, make: Any, size: Any, out: Tensor | None, options: Any,
    format: Any = contiguous_format,
) -> Tensor:  # fmt: skip
    if "size" in options:
        size = (options.pop("size"),)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    dtype = dtype_of(name, options)
    shape = size_of(name, size)
    if out is None and format is contiguous_format and only_dtype(options):
        return wrap(allocate(make, shape, dtype))
    made = without_entries(name, shape, dtype, options) if "layout" in options else None
    if made is not None:
        return made
    order = None if format is contiguous_format else formats.order_in(format, len(shape))
    return finish(name, allocate(make, shape, dtype, options, order), options, out)


def full(size: Size, fill_value: Any, *, out: Tensor | None = None,
         **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """A tensor filled with one value, whose dtype it has.

    >>> import wengert
    >>> wengert.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not"
                        f" {type(size).__name__}")  # fmt: skip
    value = _fill_number("full", fill_value)
    dtype = dtype_of("full", options, dtypes.of_number(value))
    number = dtypes.scalar_array(value, dtype, "full")

    def make(shape: Any, kind: Any) -> np.ndarray:
        return layout.full(shape, kind, number)

    array = allocate(make, size_of("full", (size,)), dtype, options)
    return finish("full", array, options, out)


def filled(name: str, size: Any, value: float, dtype: dtypes.dtype) -> Tensor:
    """A tensor of one number, without options: for functions called `name`."""
    shape = size_of(name, (size,))
    number = dtypes.scalar_array(value, dtype, name)
    return wrap(allocate(lambda shape, kind: layout.full(shape, kind, number), shape, dtype))


def _fill_number(name: str, value: Any) -> Any:
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, Tensor) and value._outline.ndim == 0:
        return value._array.item()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, int, float, complex)):
        return value
    raise TypeError(
        f"{name}(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}"
    )


def _like(name: str, input: Any, fill: Any, options: Any) -> Tensor:
    """A tensor as `input`, in memory too; `fill` is a number, or None for any elements."""
    require_tensor(name, "input", input)
    if isinstance(input, SparseTensor):
        return input.filled_like(name, fill, options)
    if not options and type(input) is Tensor and input._array.flags.c_contiguous:
        return wrap(_filled(name, input._array, fill))
    format = formats.check_format(name, options.pop("memory_format", None))
    dtype = dtype_of(name, options, of_numpy[input._outline.dtype])
    made = without_entries(name, input.shape, dtype, options)
    if made is not None:
        return made
    if default_device.meta or isinstance(input, MetaTensor):
        options["device"] = options.get("device") or input.device
    if isinstance(input, MetaTensor):
        input = input.value
    if on_meta(options.get("device")):
        order = None if format is preserve_format else formats.order_in(format, input.ndim)
        return finish(name, like(input, dtype.np, order)._array, options)
    value = None if fill is None else dtypes.scalar_array(fill, dtype, name)

    def make(lead: tuple[int, ...]) -> Tensor:
        like = input._outline
        if isinstance(input, Tracer):
            array = np.empty((*lead, *like.shape), dtype.np)
        else:
            array = formats.empty(like, format, dtype.np)
        if value is not None:
            layout.fill(array, value)
        return finish(name, array, options)

    return beside(input, make)


def _filled(name: str, like: np.ndarray, fill: Any) -> np.ndarray:
    """An array in C order of the shape and dtype of another: `_like` without options."""
    if fill is None:
        return np.empty(like.shape, like.dtype)
    if type(fill) is int and fill == 0:
        return np.zeros(like.shape, like.dtype)
    number = dtypes.scalar_array(fill, of_numpy[like.dtype], name)
    return layout.full(like.shape, like.dtype, number)


def zeros_like(input: Tensor, **options: Any) -> Tensor:
    """Zeros in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.zeros_like(wengert.tensor([1, 2]))
    tensor([0, 0])
    """
    return _like("zeros_like", input, 0, options)


def ones_like(input: Tensor, **options: Any) -> Tensor:
    """Ones in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.ones_like(wengert.zeros(2))
    tensor([1., 1.])
    """
    return _like("ones_like", input, 1, options)


def empty_like(input: Tensor, **options: Any) -> Tensor:
    """An uninitialized tensor in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.empty_like(wengert.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like("empty_like", input, None, options)


def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """One value in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.full_like(wengert.zeros(2), 3)
    tensor([3., 3.])
    """
    return _like("full_like", input, _fill_number("full_like", fill_value), options)


def empty_strided(size: Any, stride: Any, **options: Unpack[Options]) -> Tensor:
    """An uninitialized tensor of this size and these strides.

    >>> import wengert
    >>> wengert.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    shape = size_of("empty_strided", (size,))
    if len(stride) != len(shape):
        raise RuntimeError(
            f"mismatch in length of strides and shape: empty_strided() got size {list(shape)} and"
            f" stride {list(stride)}"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(f"empty_strided(): negative strides are not supported, got {stride}")
    dtype = dtype_of("empty_strided", options)
    extent = 1 + sum(s * (n - 1) for s, n in zip(stride, shape, strict=True))
    strides = tuple([s * dtype.itemsize for s in stride])
    if on_meta(options.get("device")):
        outline = without_memory(shape, dtype.np, strides)._array
        return finish("empty_strided", outline, options)
    memory = allocate(np.empty, (0 if 0 in shape else extent,), dtype)
    array = np.lib.stride_tricks.as_strided(memory, shape, strides)
    return finish("empty_strided", array, options)


def empty_permuted(size: Any, physical_layout: Any, **options: Unpack[Options]) -> Tensor:
    """A tensor of this size, whose dimensions lie in memory in the order of `physical_layout`.

    >>> import wengert
    >>> wengert.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    shape, order = size_of("empty_permuted", (size,)), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            "empty_permuted(): argument 'physical_layout' must name each dimension of size"
            f" {list(shape)} once, got {list(order)}"
        )
    dtype = dtype_of("empty_permuted", options)
    memory = allocate(np.empty, tuple([shape[d] for d in order]), dtype)
    return finish("empty_permuted", memory.transpose(np.argsort(order)), options)


def scalar_tensor(s: Any, **options: Unpack[Options]) -> Tensor:
    """A 0-d tensor of a number, in the default dtype.

    >>> import wengert
    >>> wengert.scalar_tensor(2)
    tensor(2.)
    """
    if not isinstance(s, (bool, int, float, complex, np.generic)) and not isinstance(s, Tensor):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not"
                        f" {type(s).__name__}")  # fmt: skip
    value = _fill_number("scalar_tensor", s)
    dtype = dtype_of("scalar_tensor", options)
    return finish("scalar_tensor", dtypes.scalar_array(value, dtype, "scalar_tensor"), options)


def eye(n: int, m: int | None = None, *, out: Tensor | None = None,
        **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """A matrix of n rows and m columns (n if None), ones on the diagonal, zeros elsewhere.

    >>> import wengert
    >>> wengert.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows = require_int("eye", "n", n)
    columns = rows if m is None else require_int("eye", "m", m, 2)
    for name, count in (("n", rows), ("m", columns)):
        if count < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {count} in eye()")
    dtype = dtype_of("eye", options)
    return finish("eye", allocate(_identity, (rows, columns), dtype, options), options, out)


def _identity(shape: tuple[int, int], dtype: np.dtype[Any]) -> np.ndarray:
    array = np.zeros(shape, dtype)
    array.reshape(-1)[: min(shape) * shape[1] : shape[1] + 1] = 1
    return array


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> import wengert
    >>> wengert.numel(wengert.zeros(2, 3))
    6
    """
    require_tensor("numel", "input", input)
    return math.prod(input.shape)


def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor.

    >>> import wengert
    >>> wengert.is_tensor([1.0])
    False
    """
    return isinstance(obj, Tensor)


__all__ = [
    "as_tensor", "asarray", "empty", "empty_like", "empty_permuted", "empty_strided", "eye",
    "from_dlpack", "from_numpy", "full", "full_like", "is_tensor", "numel", "ones", "ones_like",
    "scalar_tensor", "tensor", "zeros", "zeros_like",
]  # fmt: skip
