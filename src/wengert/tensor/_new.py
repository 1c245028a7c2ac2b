"""`x.new_zeros(...)` and the like: new tensors with an existing one's dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.levels import beside
from wengert.core.device import cpu, default_device
from wengert.core.dtypes import of_numpy
from wengert.core.sparse import SparseTensor, numpy_dtype
from wengert.core.tensor import Tensor
from wengert.meta.tensors import MetaTensor
from wengert.tensor import creation
from wengert.tensor.arguments import size_of


def new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    """Create a tensor from data, which is copied, in this tensor's dtype.

    >>> import wengert
    >>> wengert.zeros(1).new_tensor([1, 2])
    tensor([1., 2.])
    """
    tensor = creation.tensor(data, **_as(self, options))
    if isinstance(self, MetaTensor):
        return tensor
    return beside(self, lambda lead: tensor.repeat(*lead, *[1] * tensor.ndim) if lead else tensor)


def new_full(self: Tensor, size: Any, fill_value: Any, **options: Any) -> Tensor:
    """Create a tensor filled with one value, in this tensor's dtype.

    >>> import wengert
    >>> wengert.zeros(1).new_full((2,), 3)
    tensor([3., 3.])
    """
    number = type(fill_value) is float or type(fill_value) is int
    if number and type(self) is Tensor and not options and not default_device.meta:
        return creation.filled("new_full", size, fill_value, of_numpy[self._array.dtype])
    return _sized(self, "new_full", creation.full, (size,), (fill_value,), options)


def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Any) -> Tensor:
    """A tensor of this size, these strides, and this tensor's dtype; elements are uninitialized.

    >>> import wengert
    >>> wengert.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return creation.empty_strided(size, stride, **_as(self, options))


def _as(self: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    if options.get("dtype") is None:
        options["dtype"] = of_numpy[numpy_dtype(self)]
    if isinstance(self, SparseTensor):
        options["layout"] = options.get("layout") or self.layout
    if isinstance(self, MetaTensor) and options.get("device") is None:
        options["device"] = self.device
    elif default_device.meta:
        options["device"] = options.get("device") or cpu
    return options


def _sized(
    self: Tensor, name: str, make: Any, size: Any, values: tuple[Any, ...], options: dict[str, Any]
) -> Tensor:
    """What `make` makes of a size; of a batch where `self` is one."""
    shape = size_of(name, size)
    if type(self) is Tensor and not options and not default_device.meta:
        return make(shape, *values, dtype=of_numpy[self._array.dtype])
    options = _as(self, options)
    if isinstance(self, (MetaTensor, SparseTensor)) or options.get("layout") is not None:
        return make(shape, *values, **options)
    tensor: Tensor = beside(self, lambda lead: make((*lead, *shape), *values, **options))
    return tensor


def _new(make: Callable[..., Tensor], what: str) -> Callable[..., Tensor]:
    name = f"new_{make.__name__}"

    def method(self: Tensor, *size: Any, **options: Any) -> Tensor:
        if not size and "size" not in options:
            return make(**options)  # which says what is missing
        sizes = size or (options.pop("size"),)
        return _sized(self, name, make, sizes, (), options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""A tensor of this size {what}, in this tensor's dtype.

    >>> import wengert
    >>> wengert.tensor([1]).new_{make.__name__}(2, 3).dtype
    torch.int64
    """
    return method


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    define.new_tensor = new_tensor
    define.new_full = new_full
    define.new_empty_strided = new_empty_strided
    define.new_zeros = _new(creation.zeros, "whose elements are zero")
    define.new_ones = _new(creation.ones, "whose elements are one")
    define.new_empty = _new(creation.empty, "whose elements are not set")
