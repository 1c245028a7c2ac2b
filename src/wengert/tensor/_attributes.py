"""Read-only attributes of a Tensor: shape, dtype, device, sizes, memory."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from wengert.core import dtypes, layout
from wengert.core.device import cpu
from wengert.core.dtypes import of_numpy
from wengert.core.size import Size
from wengert.core.storage import owner
from wengert.core.tensor import Tensor
from wengert.core.tensor import made_in_inference_mode as of_inference
from wengert.kernels.layout import element_strides
from wengert.ops.complexes import imag, real
from wengert.ops.formats import check_format, lies_in
from wengert.ops.weights import pointed_to
from wengert.tensor.arguments import require_tensor
from wengert.tensor.masks import MASK_METHODS
from wengert.tensor.wrappers import WrapperOutline

_as_size = tuple.__new__  # an array's shape needs none of the checks of Size


def _shape(self: Tensor) -> Size:
    return _as_size(Size, self._outline.shape)


def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dimension.

    >>> import wengert
    >>> wengert.zeros(2, 3).size(-1)
    3
    """
    if dim is None:
        return _as_size(Size, self._outline.shape)
    return self._outline.shape[_checked_dim(self, "size", dim)]


def stride(self: Tensor, dim: int | None = None) -> Any:
    """The number of elements between neighbours, along each dimension or one of them.

    >>> import wengert
    >>> wengert.zeros(2, 3).stride()
    (3, 1)
    """
    strides = element_strides(self._array)
    return strides if dim is None else strides[_checked_dim(self, "stride", dim)]


def _checked_dim(self: Tensor, name: str, dim: Any) -> int:
    try:
        d = index(dim)
    except TypeError:
        raise TypeError(
            f"{name}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
        ) from None
    n = self._outline.ndim
    if not -n <= d < n:
        bound = f"expected to be in range of [{-max(n, 1)}, {max(n, 1) - 1}], but got {d}"
        raise IndexError(f"Dimension out of range ({bound}) in {name}()")
    return d


def dim(self: Tensor) -> int:
    """The number of dimensions.

    >>> import wengert
    >>> wengert.zeros(2, 3).dim()
    2
    """
    return self._outline.ndim


def numel(self: Tensor) -> int:
    """The number of elements.

    >>> import wengert
    >>> wengert.zeros(2, 3).numel()
    6
    """
    return self._outline.size


def element_size(self: Tensor) -> int:
    """Bytes per element.

    >>> import wengert
    >>> wengert.zeros(2).element_size()
    4
    """
    return self._array.itemsize


def storage_offset(self: Tensor) -> int:
    """The number of elements in the underlying memory before the first one.

    >>> import wengert
    >>> wengert.zeros(4).view(2, 2).storage_offset()
    0
    """
    array = self._array
    if isinstance(array, WrapperOutline):
        return array.offset
    return (_address(array) - _address(owner(array))) // array.itemsize


def data_ptr(self: Tensor) -> int:
    """The address of the first element.

    >>> import wengert
    >>> x = wengert.zeros(2, 3)
    >>> x.t().data_ptr() == x.data_ptr()
    True
    """
    array = self._array
    if not array.size or isinstance(array, WrapperOutline):
        return 0
    pointed_to(array)
    return _address(array)


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def is_contiguous(self: Tensor, memory_format: Any = layout.contiguous_format) -> bool:
    """Whether the elements are dense in memory, in the order of the dimensions.

    With `memory_format` ``channels_last``, in the order N, H, W, C of a tensor NCHW.

    >>> import wengert
    >>> wengert.zeros(2, 3).is_contiguous()
    True
    """
    array = self._array
    if memory_format is layout.contiguous_format:
        return array.flags.c_contiguous
    return lies_in(array, check_format("is_contiguous", memory_format))


def is_signed(self: Tensor) -> bool:
    """Whether the dtype has negative values.

    >>> import wengert
    >>> wengert.tensor([1], dtype=wengert.uint8).is_signed()
    False
    """
    return of_numpy[self._outline.dtype].is_signed


def is_nonzero(input: Tensor) -> bool:
    """Whether the single element is nonzero; RuntimeError unless there is exactly one.

    >>> import wengert
    >>> wengert.is_nonzero(wengert.tensor([2.0]))
    True
    """
    require_tensor("is_nonzero", "input", input)
    return bool(input)


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether another tensor has the same shape.

    >>> import wengert
    >>> wengert.zeros(2).is_same_size(wengert.ones(2))
    True
    """
    require_tensor("is_same_size", "other", other)
    return self._outline.shape == other._outline.shape


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether another tensor is the same view of the same memory.

    >>> import wengert
    >>> x = wengert.zeros(2, 3)
    >>> x.is_set_to(x.detach())
    True
    """
    require_tensor("is_set_to", "tensor", tensor)
    a, b = self._array, tensor._array
    return (_address(a), a.shape, a.strides) == (_address(b), b.shape, b.strides)


def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the widest stride to the narrowest.

    RuntimeError if two strides are equal and `ambiguity_check` is true.

    >>> import wengert
    >>> wengert.zeros(2, 3).dim_order()
    (0, 1)
    """
    strides = self._array.strides
    if ambiguity_check and len(set(strides)) < len(strides):
        raise RuntimeError(
            f"The tensor does not have unique dim order: its strides are {self.stride()}"
        )
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


def is_conj(self: Tensor) -> bool:
    """False: conjugation is never lazy.

    >>> import wengert
    >>> wengert.zeros(2).is_conj()
    False
    """
    return False


def is_neg(self: Tensor) -> bool:
    """False: negation is never lazy.

    >>> import wengert
    >>> wengert.zeros(2).is_neg()
    False
    """
    return False


def is_inference(self: Tensor) -> bool:
    """Whether the tensor was made in `inference_mode`, or is a view of one that was.

    >>> import wengert
    >>> wengert.zeros(2).is_inference()
    False
    """
    return of_inference(self)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: there is no accelerator to pin memory for.

    >>> import wengert
    >>> wengert.zeros(2).is_pinned()
    False
    """
    return False


def get_device(self: Tensor) -> int:
    """-1, the number of the CPU.

    >>> import wengert
    >>> wengert.zeros(2).get_device()
    -1
    """
    return -1


_METHODS = (size, stride, dim, numel, element_size, storage_offset, data_ptr, is_contiguous,
            is_signed, is_nonzero, is_same_size, is_set_to, dim_order, is_conj,
            is_neg, is_inference, is_pinned, get_device)  # fmt: skip
# Properties that no tensor has here.
_NEVER = ("is_cuda", "is_sparse", "is_sparse_csr", "is_quantized", "is_meta", "is_mkldnn",
          "is_mps", "is_xpu", "is_nested")  # fmt: skip


# What `help` says of attributes that are no functions.
_DESCRIBED = {
    "device": "Where the tensor lives.",
    "dtype": "The type of the elements.",
    "itemsize": "The bytes of an element.",
    "layout": "How the elements lie in memory: strided, or one of the sparse layouts.",
    "name": "None: tensors have no names.",
    "nbytes": "The bytes of all elements.",
    "ndim": "The number of dimensions.",
    "shape": "The size of each dimension.",
    "is_cpu": "Whether the elements are in the memory of the CPU.",
    "is_cuda": "Whether they are on a GPU: never.",
    "is_meta": "Whether there are no elements, only shapes: on the meta device.",
    "is_mkldnn": "Whether they have oneDNN's layout: never.",
    "is_mps": "Whether they are on a Metal device: never.",
    "is_nested": "Whether the components have different lengths.",
    "is_quantized": "Whether they are quantized: never.",
    "is_sparse": "Whether the layout is `sparse_coo`.",
    "is_sparse_csr": "Whether the layout is `sparse_csr`.",
    "is_xpu": "Whether they are on an XPU: never.",
}


def _set_real(self: Tensor, value: Tensor) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Tensor) -> None:
    imag(self).copy_(value)


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in _METHODS:
        setattr(define, function.__name__, function)
    define.ndimension, define.nelement = dim, numel
    define.shape = property(_shape)
    define.dtype = property(lambda self: of_numpy[self._outline.dtype])
    define.device = property(lambda self: cpu)
    define.layout = property(lambda self: layout.strided)
    define.ndim = property(lambda self: self._outline.ndim)
    define.itemsize = property(lambda self: self._array.itemsize)
    define.real = property(real, _set_real)
    define.imag = property(imag, _set_imag)
    define.nbytes = property(lambda self: self._array.nbytes)
    define.name = property(lambda self: None)
    define.is_cpu = property(lambda self: True)
    for name in _NEVER:
        setattr(define, name, property(lambda self: False))
    for method in MASK_METHODS:
        setattr(define, method.__name__, method)
    for name, text in _DESCRIBED.items():
        getattr(define, name).__doc__ = text


def result_type(tensor: Any, other: Any) -> dtypes.dtype:
    """Return the result dtype of an operation on two tensors or numbers.

    >>> import wengert
    >>> wengert.result_type(wengert.tensor([1]), 1.5)
    torch.float32
    """
    operands = []
    for value in (tensor, other):
        if isinstance(value, Tensor):
            rank = 2 if value._outline.ndim else 1
            operands.append((of_numpy[value._outline.dtype], rank))
        elif isinstance(value, (bool, int, float, complex)):
            operands.append((dtypes.of_number(value), 0))
        else:
            raise TypeError(
                "result_type() received an invalid combination of arguments: expected Tensors or"
                f" numbers, got {type(value).__name__}"
            )
    return dtypes.combine(operands)


__all__ = ["is_nonzero", "result_type"]
