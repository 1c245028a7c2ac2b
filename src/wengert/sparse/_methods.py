"""What a sparse tensor says of itself, and how it changes: attributes, conversions, copies.

Methods of Tensor that are operations come with the table; those here look at components.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, TypeGuard

import numpy as np

from wengert.core import dtypes
from wengert.core.device import check_cpu
from wengert.core.layout import layout as layout_type
from wengert.core.layout import preserve_format, sparse_csr
from wengert.core.size import Size
from wengert.core.sparse import (
    CompressedTensor,
    CooTensor,
    Shape,
    SparseTensor,
    compressed,
    coo,
    layout_of,
    unsupported,
)
from wengert.core.tensor import Leaf, Tensor, mode
from wengert.ops.casting import convert
from wengert.ops.shape import clone
from wengert.sparse import _shapes
from wengert.sparse._arithmetic import own_places
from wengert.sparse._places import dense_of
from wengert.sparse._print import text_of_sparse
from wengert.sparse.construction import new_of
from wengert.tensor.arguments import dtype_and_device, size_of

Method = Callable[..., Any]


def _kind(self: SparseTensor) -> str:
    """The layout as PyTorch's errors name it."""
    return "".join(word.capitalize() for word in layout_of(self).name.split("_")).removesuffix(
        "Coo"
    )


# Attributes


def _size(self: SparseTensor, dim: int | None = None) -> Any:
    return Size(self._extent) if dim is None else self._extent[dim]


def _stride(self: SparseTensor, dim: int | None = None) -> Any:
    if isinstance(self, CompressedTensor):
        raise RuntimeError(f"Sparse {_kind(self)[6:].upper()} tensors do not have strides")
    return (0,) * len(self._extent) if dim is None else 0


def _is_contiguous(self: SparseTensor, memory_format: Any = None) -> bool:
    if isinstance(self, CompressedTensor):
        raise RuntimeError(f"Sparse {_kind(self)[6:].upper()} tensors do not have is_contiguous")
    return False


def _data_ptr(self: SparseTensor) -> int:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def _untyped_storage(self: SparseTensor) -> Any:
    raise NotImplementedError("Cannot access storage of SparseTensorImpl")


def _numpy(self: SparseTensor, *, force: bool = False) -> np.ndarray:
    raise TypeError(
        f"can't convert {_kind(self)} layout tensor to numpy. Use Tensor.to_dense() first."
    )


def _array_protocol(self: SparseTensor, dtype: Any = None, copy: bool | None = None) -> Any:
    return _numpy(self)


def _tolist(self: SparseTensor) -> Any:
    raise unsupported("tolist", self)


def _item(self: SparseTensor) -> Any:
    if prod(self._extent) != 1:
        raise RuntimeError(
            f"a Tensor with {prod(self._extent)} elements cannot be converted to Scalar: item()"
            f" got one of shape {list(self._extent)}"
        )
    return dense_of(self).item()


def _length(self: SparseTensor) -> int:
    if not self._extent:
        raise TypeError("len() of a 0-d tensor")
    return self._extent[0]


def _iterate(self: SparseTensor) -> Iterator[Tensor]:
    return iter([_shapes.item_of(self, k) for k in range(_length(self))])


def _bool(self: SparseTensor) -> bool:
    if prod(self._extent) != 1:
        many = "more than one value" if prod(self._extent) else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(_item(self))


def _set_item(self: SparseTensor, key: Any, value: Any) -> None:
    raise TypeError("Cannot assign to a sparse tensor")


# Gradients


def _requires_grad_(self: SparseTensor, requires_grad: bool = True) -> SparseTensor:
    if requires_grad and self._edge is None:
        self._stored = self._stored.detach()  # a leaf of its own
    self._stored.requires_grad_(requires_grad)
    return self


def _set_requires_grad(self: SparseTensor, value: bool) -> None:
    if value and not self.is_leaf:
        raise RuntimeError("you can only change requires_grad flags of leaf variables.")
    _requires_grad_(self, value)


def _gradient_like(self: SparseTensor, gradient: Tensor | None) -> Tensor | None:
    """The gradient of the values as that of the tensor: at each place once."""
    if gradient is None or not isinstance(self, CooTensor):
        return None if gradient is None else self.with_values(gradient)
    if self._coalesced:
        return self.with_values(gradient)
    from wengert.kernels.sparse import distinct_places
    from wengert.sparse._places import values_at

    distinct = distinct_places(self._coordinates, self._extent)
    if distinct is None:
        return self.with_values(gradient)
    places, group = distinct
    first = np.zeros(places.shape[1], np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return coo(places, values_at(gradient, first), self._extent, coalesced=True)


def _get_grad(self: SparseTensor) -> Tensor | None:
    return _gradient_like(self, self._stored.grad)


def _set_grad(self: SparseTensor, value: Tensor | None) -> None:
    if value is None:
        self._stored.grad = None
        return
    self._stored.grad = _gradient_of_values(self, value)


def _gradient_of_values(self: SparseTensor, gradient: Tensor) -> Tensor:
    """The elements of a gradient where the tensor has values."""
    from wengert.sparse._masks import sparse_mask_of

    if tuple(gradient.shape) != self._extent:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(gradient.shape)}' to a tensor of size"
            f" '{list(self._extent)}'. Please ensure that the gradient and the tensor are the same"
            " size"
        )
    return sparse_mask_of(gradient, self)._stored


def _backward(
    self: SparseTensor, gradient: Tensor | None = None, retain_graph: Any = None,
    create_graph: bool = False, inputs: Any = None,
) -> None:  # fmt: skip
    if gradient is not None:
        gradient = _gradient_of_values(self, gradient)
    self._stored.backward(gradient, retain_graph, create_graph, inputs)


def _register_hook(self: SparseTensor, hook: Method) -> Any:
    def on_values(gradient: Tensor) -> Tensor | None:
        answer = hook(_gradient_like(self, gradient))
        return None if answer is None else _gradient_of_values(self, answer)

    return self._stored.register_hook(on_values)


def _retain_grad(self: SparseTensor) -> None:
    self._stored.retain_grad()


def _detach(self: SparseTensor) -> SparseTensor:
    return self.with_values(self._stored.detach())


def _detach_(self: SparseTensor) -> SparseTensor:
    self._stored = self._stored.detach()
    return self


def _get_data(self: SparseTensor) -> SparseTensor:
    return self.with_values(self._stored.data)


def _set_data(self: SparseTensor, value: Tensor) -> None:
    if not _same_kind(self, value):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have"
            " incompatible tensor type."
        )
    _take_over(self, value)  # type: ignore[arg-type]


# Conversions


def _to(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
    dtype, device, copied = dtype_and_device(args, options)
    check_cpu(device)
    return _in_dtype(self, dtype or self.dtype, copied)


def _in_dtype(self: SparseTensor, dtype: dtypes.dtype, copied: bool = False) -> SparseTensor:
    if dtype is self.dtype and not copied:
        return self
    values = convert(self._stored, dtype)
    return self.with_values(clone(values) if copied and values is self._stored else values)


def _type_as(self: SparseTensor, other: Tensor) -> SparseTensor:
    return _in_dtype(self, other.dtype)


def _type_(self: SparseTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        return f"torch.sparse.{self.dtype.short}Tensor"
    return self.with_values(self._stored.type(dtype))


def _itself(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
    return self


def _converter(kind: dtypes.dtype) -> Method:
    def method(self: SparseTensor, memory_format: Any = preserve_format) -> SparseTensor:
        return _in_dtype(self, kind)

    return method


def _conj(self: SparseTensor) -> SparseTensor:
    return self.with_values(self._stored.conj())


# Changes in place: other components take the place of the tensor's own


def _same_kind(self: SparseTensor, other: Any) -> TypeGuard[SparseTensor]:
    return isinstance(other, SparseTensor) and layout_of(other) is layout_of(self)


def _take_over(self: SparseTensor, other: SparseTensor) -> None:
    if type(self._edge) is Leaf:
        self._stored.data = other._stored
    else:
        self._stored = other._stored
    self._extent, self._pattern = other._extent, other._pattern
    if isinstance(self, CooTensor) and isinstance(other, CooTensor):
        self._coordinates, self._coalesced = other._coordinates, other._coalesced
    elif isinstance(self, CompressedTensor) and isinstance(other, CompressedTensor):
        self._bounds, self._plain, self._layout = other._bounds, other._plain, other._layout


def _check_not_leaf(self: SparseTensor) -> None:
    if mode.site is not None and type(self._edge) is Leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )


def inplace_form(function: Method, name: str, reshapes: bool = False) -> Method:
    """The in-place form of a method of sparse tensors; of some the result has another shape."""

    def method(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        _check_not_leaf(self)
        result = function(self, *args, **options)
        fits = _same_kind(self, result) and (reshapes or result._extent == self._extent)
        if not fits:
            raise RuntimeError(
                f"{name}(): the result has shape {list(result.shape)} and layout {result.layout},"
                f" and cannot take the place of a tensor of shape {list(self._extent)} and layout"
                f" {layout_of(self)}"
            )
        if result.dtype is not self.dtype:
            if result.dtype.category > self.dtype.category:
                raise RuntimeError(
                    f"result type {result.dtype.short} can't be cast to the desired output type"
                    f" {self.dtype.short} in {name}()"
                )
            result = _in_dtype(result, self.dtype)
        _take_over(self, result)
        return self

    method.__name__ = method.__qualname__ = name
    return method


def _copy_(self: SparseTensor, src: Tensor, non_blocking: bool = False) -> SparseTensor:
    if not _same_kind(self, src):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type ="
            f" torch.{_kind(self)} of shape {list(self._extent)} and src of layout {src.layout}"
        )
    _check_not_leaf(self)
    _take_over(self, _in_dtype(clone(src), self.dtype))  # type: ignore[arg-type]
    return self


def _zero_(self: SparseTensor) -> SparseTensor:
    _check_not_leaf(self)
    if isinstance(self, CooTensor):
        _take_over(self, _shapes.like_zeros(self))  # type: ignore[arg-type]
    else:
        self._stored = self._stored.detach().new_zeros(self._stored.shape)
    return self


def _resize_(self: SparseTensor, *sizes: Any, memory_format: Any = None) -> SparseTensor:
    shape = size_of("resize_", sizes)
    if not isinstance(self, CooTensor):
        raise unsupported("resize_", self)
    sparse_dim = len(self._coordinates)
    return _sparse_resize_(self, shape, len(shape) - (len(self._extent) - sparse_dim),
                          len(self._extent) - sparse_dim)  # fmt: skip


def _resize_as_(self: SparseTensor, the_template: Tensor) -> SparseTensor:
    if not isinstance(the_template, CooTensor):
        raise unsupported("resize_as_", self)
    sparse_dim, shape = len(the_template._coordinates), the_template._extent
    return _sparse_resize_(self, shape, sparse_dim, len(shape) - sparse_dim)


def _sparse_resize_(self: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Give the tensor another shape, in which its values stay where they are."""
    shape = size_of("sparse_resize_", (tuple(size),))
    if not isinstance(self, CooTensor):
        raise unsupported("sparse_resize_", self)
    _check_split(shape, sparse_dim, dense_dim)
    if self._coordinates.shape[1]:
        same = len(self._coordinates) == sparse_dim and self._stored.ndim - 1 == dense_dim
        if not same or any(a < b for a, b in zip(shape, self._extent, strict=True)):
            raise RuntimeError(
                "resize a non-empty sparse tensor: only dimensions that grow are supported, but"
                f" got a size of {list(shape)} for a tensor of {list(self._extent)}"
            )
        dense = shape[sparse_dim:]
        if dense != tuple(self._stored.shape[1:]):
            self._stored = _grown(self._stored, dense)
    else:
        _clear(self, shape, sparse_dim)
    self._extent, self._pattern = shape, None
    return self


def _sparse_resize_and_clear_(
    self: SparseTensor, size: Any, sparse_dim: int, dense_dim: int
) -> SparseTensor:
    """Give the tensor another shape, without values."""
    shape = size_of("sparse_resize_and_clear_", (tuple(size),))
    if not isinstance(self, CooTensor):
        raise unsupported("sparse_resize_and_clear_", self)
    _check_split(shape, sparse_dim, dense_dim)
    _clear(self, shape, sparse_dim)
    self._extent, self._pattern = shape, None
    return self


def _check_split(shape: Shape, sparse_dim: int, dense_dim: int) -> None:
    if sparse_dim + dense_dim != len(shape):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) ="
            f" {len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )


def _clear(self: CooTensor, shape: Shape, sparse_dim: int) -> None:
    self._coordinates = np.zeros((sparse_dim, 0), np.int64)
    self._stored = self._stored.detach().new_zeros((0, *shape[sparse_dim:]))
    self._coalesced = True


def _grown(values: Tensor, dense: Shape) -> Tensor:
    """The values with zeros behind them, in larger dense dimensions."""
    grown = values.detach().new_zeros((len(values), *dense))
    grown[(slice(None), *(slice(n) for n in values.shape[1:]))] = values.detach()
    return grown


def coalesced_flag(self: SparseTensor, coalesced: bool) -> SparseTensor:
    """Say that the coordinates are sorted and distinct, or that they may not be."""
    if isinstance(self, CooTensor):
        self._coalesced = bool(coalesced)
    return self


def _filled_like(self: SparseTensor, name: str, fill: Any, options: dict[str, Any]) -> Tensor:
    """What `zeros_like` and its kin make of a sparse tensor: other numbers at compressed places."""
    check_cpu(options.get("device"))
    other = options.get("layout") not in (None, layout_of(self))
    if (other or fill != 0) and isinstance(self, CompressedTensor):
        if other:
            raise RuntimeError(
                f"{name} with different sparse layout is not supported (self is"
                f" {layout_of(self)} but you requested {options['layout']})"
            )
        zeros: Any = self.with_values(self._stored.detach().new_full(self._stored.shape, fill or 0))
    elif fill:
        raise unsupported(name, self)
    elif other:
        like = self._stored.detach().new_empty(0)
        zeros = like.new_zeros(self._extent, layout=options["layout"])
    else:
        zeros = _shapes.like_zeros(self)
    if options.get("dtype") is not None:
        zeros = convert(zeros, options["dtype"])
    return zeros.requires_grad_(bool(options.get("requires_grad", False)))


# Copies and pickles


def _deepcopy(self: SparseTensor, memo: dict[int, Any]) -> SparseTensor:
    copied = memo.get(id(self))
    if copied is not None:
        existing: SparseTensor = copied
        return existing
    result = own_places(self.with_values(copy.deepcopy(self._stored, memo)))
    memo[id(self)] = result
    return result


def rebuild_coo(indices: Any, values: Tensor, shape: Shape, coalesced: bool) -> CooTensor:
    """What a pickle has made of a tensor of coordinates."""
    return coo(indices, values, shape, coalesced)


def rebuild_compressed(name: str, *components: Any) -> CompressedTensor:
    """What a pickle has made of a compressed tensor."""
    return compressed(layout_by_name(name), *components)


def layout_by_name(name: str) -> layout_type:
    """A sparse layout."""
    from wengert.core import layout

    kind: layout_type = getattr(layout, name)
    return kind


def _reduce(self: SparseTensor, protocol: Any) -> tuple[Any, ...]:
    if isinstance(self, CooTensor):
        return rebuild_coo, (self._coordinates, self._stored, self._extent, self._coalesced)
    assert isinstance(self, CompressedTensor)
    components = (self._bounds, self._plain, self._stored, self._extent)
    return rebuild_compressed, (self._layout.name, *components)


_CONVERTERS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}  # fmt: skip
_METHODS = (_size, _stride, _is_contiguous, _data_ptr, _untyped_storage, _numpy, _tolist, _item,
            _requires_grad_, _gradient_like, _gradient_of_values, _filled_like, _backward,
            _register_hook, _retain_grad, _detach, _detach_, _to, _type_as,
            _copy_, _zero_, _resize_, _resize_as_,
            _sparse_resize_, _sparse_resize_and_clear_)  # fmt: skip
_SPECIAL: dict[str, Any] = {
    "__array__": _array_protocol, "__len__": _length, "__iter__": _iterate, "__bool__": _bool,
    "__getitem__": _shapes.item_of, "__setitem__": _set_item, "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce, "__repr__": text_of_sparse, "narrow": _shapes.narrowed_to,
    "narrow_copy": _shapes.narrowed_to,
    "__format__": object.__format__, "__hash__": object.__hash__, "type": _type_, "cpu": _itself,
    "contiguous": _itself, "positive": _itself, "__pos__": _itself, "conj": _conj,
    "_coalesced_": coalesced_flag, "new": new_of, "storage": _untyped_storage,
}  # fmt: skip
_INPLACE = (
    "abs", "add", "sub", "mul", "div", "neg", "sqrt", "sin", "tan", "tanh", "sinh", "asin", "atan",
    "asinh", "atanh", "erf", "expm1", "log1p", "floor", "ceil", "round", "sign", "sgn", "trunc",
    "relu", "pow", "nan_to_num", "deg2rad", "rad2deg",
)  # fmt: skip


def bind() -> None:
    """Give SparseTensor its methods."""
    define: Any = SparseTensor
    for function in _METHODS:
        setattr(define, function.__name__.removeprefix("_"), function)
    for name, special in _SPECIAL.items():
        setattr(define, name, special)
    for name, kind in _CONVERTERS.items():
        setattr(define, name, _converter(kind))
    for name in _INPLACE:
        setattr(define, f"{name}_", inplace_form(getattr(Tensor, name), f"{name}_"))
    for name in ("t", "transpose", "unsqueeze"):
        setattr(define, f"{name}_", inplace_form(getattr(Tensor, name), f"{name}_", reshapes=True))
    for operator in ("add", "sub", "mul", "truediv"):
        method = inplace_form(getattr(Tensor, f"__{operator}__"), f"__i{operator}__")
        setattr(define, f"__i{operator}__", method)
    define.shape = property(_size)
    define.dtype = property(lambda self: self._stored.dtype)
    define.layout = property(layout_of)
    define.ndim = property(lambda self: len(self._extent))
    define.dim = define.ndimension = lambda self: len(self._extent)
    define.numel = define.nelement = lambda self: prod(self._extent)
    define.itemsize = property(lambda self: self._stored.itemsize)
    define.element_size = lambda self: self._stored.element_size()
    define.is_signed = lambda self: self._stored.is_signed()
    define.is_floating_point = lambda self: self._stored.is_floating_point()
    define.is_complex = lambda self: self._stored.is_complex()
    define.is_same_size = lambda self, other: tuple(other.shape) == self._extent
    define.H = property(lambda self: self.t().conj())
    define.is_sparse = property(lambda self: isinstance(self, CooTensor))
    define.is_sparse_csr = property(lambda self: layout_of(self) is sparse_csr)
    define.requires_grad = property(lambda self: self._edge is not None, _set_requires_grad)
    define.grad = property(_get_grad, _set_grad, lambda self: _set_grad(self, None))
    define._grad = property(_get_grad, _set_grad)
    define.data = property(_get_data, _set_data)
    define.retains_grad = property(lambda self: self._stored.retains_grad)
    define._version = property(lambda self: self._stored._version)
