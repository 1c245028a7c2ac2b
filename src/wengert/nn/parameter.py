"""The tensors that a Module registers when they are assigned to it: Parameter and Buffer.

Their uninitialized forms get a shape from the first input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd.errors import integer_requires_grad
from wengert.core.device import cpu, on_meta
from wengert.core.device import device as device_type
from wengert.core.dtypes import canonical, defaults, inexact, of_numpy
from wengert.core.dtypes import dtype as dtype_type
from wengert.core.inference import check_may_require_grad, inherit, mark_inference
from wengert.core.overriding import disabled_torch_function_impl
from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor, unsupported
from wengert.core.tensor import Tensor, Tracer, cut_at, inferences, leaf_of, new
from wengert.kernels import layout
from wengert.meta.tensors import META, MetaTensor, NoData, without_memory
from wengert.ops.weights import shown


class Parameter(Tensor):
    """A trainable tensor of a `Module`: once assigned, it is among its `parameters()`.

    It shares the memory of `data` and is a leaf of the graph.

    Args:
        data: the tensor whose memory it shares.
        requires_grad: whether it is trained.

    >>> import wengert
    >>> wengert.nn.Parameter(wengert.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    __torch_function__ = disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        kind = _placed(cls, data)
        if kind is not None:
            return kind.__new__(kind, data, requires_grad)
        self = new(cls)
        self._array = np.empty(0, np.float32) if data is None else _array_of(data, "Parameter")
        self._edge = self._root = None
        self._cut = None if data is None else cut_at("Parameter()", data)
        if inferences:
            _take_mode(self, data, requires_grad)
        if requires_grad:
            if self._outline.dtype not in inexact:
                raise RuntimeError(integer_requires_grad(
                    "Only Tensors of floating point and complex dtype can require gradients;"
                    " Parameter() got data of dtype", of_numpy[self._outline.dtype], "Parameter()",
                ))  # fmt: skip
            self._edge = leaf_of(self)
        return self

    def __init__(self, *args: Any, **options: Any) -> None:
        """Do nothing: `__new__` does it all, and Tensor's constructor takes other arguments."""

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copy = memo.get(id(self))
        if copy is None:
            array = layout.copy(self._array)
            copy = memo[id(self)] = _rebuild(type(self), array, self.requires_grad)
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        kind = None if type(self) is Parameter else type(self)
        shown(self._array)  # a pickle may hold the memory itself
        return _rebuild, (kind, self._array, self.requires_grad)


class Buffer(Tensor):
    """A tensor that is part of a `Module`'s state but not trained.

    Args:
        data: the tensor whose memory it shares.
        persistent: whether it is part of the module's `state_dict()`.

    >>> import wengert
    >>> module = wengert.nn.Module()
    >>> module.mean = wengert.nn.Buffer(wengert.zeros(2))
    >>> [name for name, _ in module.named_buffers()]
    ['mean']
    """

    __slots__ = ("persistent",)

    __torch_function__ = disabled_torch_function_impl  # type: ignore[assignment]

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        kind = _placed(cls, data)
        if kind is not None:
            return kind.__new__(kind, data, persistent=persistent)
        self = new(cls)
        self._array = np.empty(0, np.float32) if data is None else _array_of(data, "Buffer")
        self._edge = self._root = None
        self._cut = None if data is None else cut_at("Buffer()", data)
        if inferences:
            _take_mode(self, data, False)
        self.persistent = persistent
        if data is not None and data._edge is not None:
            self._edge = leaf_of(self)
        return self

    def __init__(self, *args: Any, **options: Any) -> None:
        """Do nothing: `__new__` does it all, and Tensor's constructor takes other arguments."""


def _placed(cls: type[Tensor], data: Any) -> Any:
    """The class for data without memory, or sparse; None if the class itself is right."""
    if isinstance(data, SparseTensor) and not issubclass(cls, SparseTensor):
        return _sparse_kind(cls, data)
    own = getattr(type(data), "parameter_class", None)
    if own is not None and cls is Parameter:
        return own
    home = _home(type(data))
    if home is _home(cls):
        return None
    plain = next(kind for kind in cls.__mro__ if not issubclass(kind, Tracer))
    if home is None:
        return plain
    return home.kinds.get(plain) or type(plain.__name__, (home, plain), {"__slots__": ()})


def _home(kind: type) -> Any:
    """The class of tensors without memory that a class belongs to; None for others."""
    own = (k for k in kind.__mro__ if issubclass(k, MetaTensor) and "kinds" in vars(k))
    return next(own, None)


def _array_of(data: Any, name: str) -> np.ndarray:
    if not isinstance(data, Tensor):
        # AttributeError is what PyTorch raises: it calls data.detach().
        raise AttributeError(
            f"{name}(): argument 'data' must be a Tensor, got {type(data).__name__}, an object"
            " that has no attribute 'detach'"
        )
    return data._array


def _take_mode(self: Tensor, data: Tensor | None, requires_grad: bool) -> None:
    """Give a new tensor the inference mode of its data, or the current one."""
    if data is None:
        mark_inference(self)
        return
    inherit(self, data)
    if requires_grad:
        check_may_require_grad(self)


def _rebuild(cls: type[Parameter] | None, array: np.ndarray, requires_grad: bool) -> Parameter:
    """Build a parameter around an array, for copies and pickles.

    Pickles name subclasses alone (None: Parameter), as its own name depends on the torch alias.
    """
    self = new(cls or Parameter)
    self._array = canonical(array)
    self._edge = leaf_of(self) if requires_grad else None
    self._cut = None
    if inferences:
        mark_inference(self)
    return self


class _MetaParameter(MetaTensor, Parameter):
    """A parameter on the meta device."""

    __slots__ = ()

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + MetaTensor.__repr__(self)


class _MetaBuffer(MetaTensor, Buffer):
    """A buffer on the meta device."""

    __slots__ = ()


MetaTensor.kinds.update({Parameter: _MetaParameter, Buffer: _MetaBuffer})


class _SparseParameter(Parameter):
    """What parameters of all sparse layouts have of parameters."""

    __slots__ = ()

    def __new__(cls, data: Any, requires_grad: bool = True) -> Any:
        self = data.with_values(data._stored.detach())
        self.__class__ = cls
        return self.requires_grad_(requires_grad)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + SparseTensor.__repr__(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = memo.get(id(self))
        if copy is None:
            data = SparseTensor.__deepcopy__(self, {})
            copy = memo[id(self)] = Parameter(data, self.requires_grad)
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Parameter, (self.detach(), self.requires_grad)


class _CooParameter(_SparseParameter, CooTensor):
    """A parameter with coordinates."""

    __slots__ = ()


class _CompressedParameter(_SparseParameter, CompressedTensor):
    """A parameter with compressed indices."""

    __slots__ = ()


def _sparse_kind(cls: type[Tensor], data: SparseTensor) -> type[Tensor]:
    if cls is not Parameter:
        raise unsupported(cls.__name__, data)
    return _CooParameter if isinstance(data, CooTensor) else _CompressedParameter


# The slot of a tensor's array. Tensors without a shape hide the attribute, so that anything
# that reads values or shape raises; permitted accesses go through this.
_memory: Any = Tensor.__dict__["_array"]


class _Uninitialized(Tensor):
    """A parameter or buffer with a dtype but no shape yet."""

    __slots__ = ()

    __torch_function__ = disabled_torch_function_impl  # type: ignore[assignment]

    cls_to_become: type[Tensor] = Tensor

    def __init__(self, *args: Any, **options: Any) -> None:
        """Do nothing: `__new__` does it all, and Tensor's constructor takes other arguments."""

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of that shape, with uninitialized values."""
        kind = self.dtype if dtype is None else dtype
        meta = on_meta(self.device if device is None else device)
        kinds: dict[Any, Any] = {Parameter: _MetaParameter, Buffer: _MetaBuffer}
        self.__class__ = kinds[self.cls_to_become] if meta else self.cls_to_become  # type: ignore[assignment]
        outline = without_memory(shape, kind.np)._array if meta else np.empty(tuple(shape), kind.np)
        self._array = outline
        if self._edge is not None:
            self._edge = leaf_of(self)  # a leaf knows its shape

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to"
            " initialize the parameters before calling `module.share_memory()`."
        )

    @property
    def _array(self) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a"
            " `LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter`"
            " objects. When using LazyModules Call `forward` with a dummy batch to initialize the"
            " parameters before calling torch functions"
        )

    @_array.setter
    def _array(self, array: np.ndarray) -> None:
        _memory.__set__(self, array)

    @property
    def _outline(self) -> Any:  # type: ignore[override]
        return self._array

    @property
    def dtype(self) -> dtype_type:
        return of_numpy[_memory.__get__(self).dtype]

    @property
    def device(self) -> device_type:
        return META if isinstance(_memory.__get__(self), NoData) else cpu

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually"
            " happens in `load_state_dict` when trying to load an uninitialized parameter into an"
            " initialized one. Call `forward` to initialize the parameters before accessing their"
            " attributes."
        )

    def detach(self) -> Any:
        """Return itself: there are no values yet."""
        return self

    def __repr__(self) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = memo.get(id(self))
        if copy is None:
            function, arguments = self.__reduce_ex__(2)
            copy = memo[id(self)] = function(*arguments)
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, None, self.dtype)


def _make(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    kind = (dtype or defaults.dtype).np
    self = new(cls.cls_to_become)
    self._array = without_memory((0,), kind)._array if on_meta(device) else np.empty(0, kind)
    self._edge = leaf_of(self) if requires_grad else None
    self._cut = None
    self.__class__ = cls
    return self


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter without a shape; lazy modules give it one on their first call.

    Args:
        requires_grad: whether it is trained.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> p = wengert.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Parameter', torch.Size([2, 3]))
    """

    __slots__ = ()

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        return _make(cls, requires_grad, device, dtype)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer without a shape; lazy modules give it one on their first call.

    Args:
        requires_grad: whether it is trained.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        persistent: whether it is part of the module's `state_dict()`.

    >>> import wengert
    >>> buffer = wengert.nn.UninitializedBuffer()
    >>> buffer.materialize((3,))
    >>> type(buffer).__name__, buffer.shape
    ('Buffer', torch.Size([3]))
    """

    __slots__ = ()

    cls_to_become = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        self = _make(cls, requires_grad, device, dtype)
        self.persistent = persistent
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, None, self.dtype, self.persistent)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet.

    >>> import wengert
    >>> wengert.nn.parameter.is_lazy(wengert.nn.LazyLinear(2).weight)
    True
    """
    return isinstance(param, _Uninitialized)


def _convert_lazy(value: Any, function: Callable[[Tensor], Tensor]) -> None:
    """Convert an uninitialized tensor as a function such as `.to` would."""
    plain = new(Tensor)
    plain._array, plain._edge, plain._cut = _memory.__get__(value), None, None
    plain._root = None
    value._array = function(plain)._array


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
