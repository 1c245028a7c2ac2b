"""Conversions: dtypes, Python numbers, NumPy arrays, DLPack, pickles, copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd import errors, naming
from wengert.core import dtypes, storage
from wengert.core.cut_log import note_escape
from wengert.core.device import check_cpu, default_device
from wengert.core.device import cpu as cpu_device
from wengert.core.dtypes import of_numpy
from wengert.core.float8 import in_use, is_float8
from wengert.core.inference import mark_inference
from wengert.core.layout import memory_format, preserve_format
from wengert.core.messages import current_call, message
from wengert.core.preparations import read_of
from wengert.core.tensor import Leaf, Tensor, Tracer, inferences, is_view, leaf_of, mode, new, wrap
from wengert.kernels import layout
from wengert.meta.tensors import MetaTensor, moved
from wengert.ops.casting import convert
from wengert.ops.formats import check_format, lies_in, suggested
from wengert.ops.outputs import check_memory
from wengert.ops.shape import clone
from wengert.ops.weights import shown
from wengert.tensor._data import checked
from wengert.tensor._inplace import check_writable, overwrite, overwrite_with, touch
from wengert.tensor._legacy import dtype_of_type, tensortype
from wengert.tensor.arguments import dtype_and_device, require_tensor
from wengert.tensor.exchange import capsule_of
from wengert.tensor.wrappers import WrapperOutline


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """Return the tensor's memory as a NumPy array.

    RuntimeError for a tensor that requires grad while recording is on, unless `force` is
    true. bfloat16 is returned as the dtype of the package ml_dtypes.

    >>> import wengert
    >>> wengert.tensor([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    if self._edge is not None and mode.site is not None and not force:
        raise RuntimeError(errors.numpy_of_graph(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            self._edge, "numpy()",
        ))  # fmt: skip
    memory = self._array
    if isinstance(memory, WrapperOutline):
        raise memory.refusal()
    note_escape("numpy()", self)
    shown(memory)
    return memory


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    return np.array(numpy(self), dtype, copy=copy)


def _array_wrap(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """What a function of NumPy computed from a tensor, as a tensor; truth values are bytes then."""
    array = np.asarray(array)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    return wrap(checked(array))


def item(self: Tensor) -> Any:
    """Return the single element as a Python number; RuntimeError unless there is exactly one.

    >>> import wengert
    >>> wengert.tensor([2.5]).item()
    2.5
    """
    if self._outline.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._outline.size} elements cannot be converted to Scalar: item()"
            f" got one of shape {list(self._outline.shape)}"
        )
    return _elements(self, "item()").item()


def tolist(self: Tensor) -> Any:
    """Return nested lists of Python numbers; for a 0-d tensor, the number.

    >>> import wengert
    >>> wengert.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return _elements(self, "tolist()").tolist()


def _elements(self: Tensor, what: str | None = None) -> np.ndarray:
    """The elements, for who keeps no hold of the memory; noted where a function `what` is named."""
    found = read_of(self, what)
    if found is not None:
        return found
    if what is not None:
        note_escape(what, self)
    return self._array


def _one(self: Tensor, what: str | None = None) -> Any:
    if self._outline.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars, and this one has shape"
            f" {list(self._outline.shape)}"
        )
    return _elements(self, what).item()


def _real(self: Tensor, kind: str, what: str | None = None) -> Any:
    value = _one(self, what)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(
                f"value cannot be converted to type {kind} without overflow: {value}"
            )
        return value.real
    return value


def _float(self: Tensor) -> float:
    return float(_real(self, "double", "float()"))


def _int(self: Tensor) -> int:
    return int(_real(self, "int64_t"))


def _complex(self: Tensor) -> complex:
    return complex(_one(self))


def _bool(self: Tensor) -> bool:
    if self._outline.size != 1:
        many = "more than one value" if self._outline.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(_elements(self).item())


def _index(self: Tensor) -> int:
    if self._outline.size != 1 or self._outline.dtype.kind not in "iub":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index, and this one"
            f" is {of_numpy[self._outline.dtype]} of shape {list(self._outline.shape)}"
        )
    return int(_elements(self).item())


def _format(self: Tensor, spec: str) -> str:
    return item(self).__format__(spec) if self._outline.ndim == 0 else object.__format__(self, spec)


def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``.

    Returns the tensor itself if nothing changes, unless `copy` is true. `memory_format` selects
    an order of dimensions in memory; `non_blocking` is accepted.

    >>> import wengert
    >>> wengert.tensor([1.5, 2.5]).to(wengert.int64)
    tensor([1, 2])
    """
    if len(args) == 1 and not options:
        only = args[0]
        if type(only) is dtypes.dtype:
            return convert(self, only)
        on_cpu = only is cpu_device or (type(only) is str and only == "cpu")
        if on_cpu and type(self) is Tensor and default_device.fake is None:
            return self
    dtype, device, copied = dtype_and_device(args, options)
    if device is not None:
        self = moved(self, device)
    format = check_format("to", options.get("memory_format"))
    return _converted(self, dtype or of_numpy[self._outline.dtype], format, copied)


def _converted(
    self: Tensor, dtype: dtypes.dtype, format: memory_format, copied: bool = False
) -> Tensor:
    """Convert dtype and memory format; return the tensor itself if they match, unless copying."""
    result = convert(self, dtype)
    if format is preserve_format or isinstance(self, Tracer):
        return clone(result) if copied and result is self else result
    if result is not self:
        return result if lies_in(result._array, format) else clone(result, memory_format=format)
    if not copied and suggested(self._array) is format:
        return self
    return clone(self, memory_format=format)


def type_(
    self: Tensor, dtype: Any = None, non_blocking: bool = False,
    *, memory_format: Any = preserve_format,
) -> Any:  # fmt: skip
    """The name of the tensor's old type; or the tensor converted to a dtype or type.

    >>> import wengert
    >>> wengert.zeros(2).type()
    'torch.FloatTensor'
    >>> wengert.zeros(2).type(wengert.int64)
    tensor([0, 0])
    """
    if dtype is None:
        return f"torch.{of_numpy[self._outline.dtype].short}Tensor"
    named = isinstance(dtype, (dtypes.dtype, str, tensortype)) or dtype is Tensor
    if not named and dtype in (float, int, bool, complex):
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    return _converted(self, dtype_of_type(dtype), check_format("type", memory_format))


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype of another.

    >>> import wengert
    >>> wengert.tensor([1]).type_as(wengert.zeros(1))
    tensor([1.])
    """
    require_tensor("type_as", "other", other)
    return convert(self, of_numpy[other._outline.dtype])


def _converter(name: str, kind: dtypes.dtype) -> Callable[..., Tensor]:
    def method(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
        if memory_format is preserve_format:
            return convert(self, kind)
        return _converted(self, kind, check_format(name, memory_format))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""This tensor as {kind}; itself where it already is.

    >>> import wengert
    >>> wengert.tensor([0.0, 1.0]).{name}().dtype
    {kind}
    """
    return method


def cpu(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
    """The tensor itself: all are on the CPU. With `memory_format` a copy, if it lies otherwise.

    >>> import wengert
    >>> x = wengert.zeros(2)
    >>> x.cpu() is x
    True
    """
    if memory_format is preserve_format and not isinstance(self, MetaTensor):
        return self
    self = moved(self, "cpu")
    return _converted(self, of_numpy[self._outline.dtype], check_format("cpu", memory_format))


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False,
         memory_format: Any = None) -> Tensor:  # fmt: skip
    """Raise AssertionError, as in a PyTorch without CUDA.

    >>> import wengert
    >>> try:
    ...     wengert.zeros(2).cuda()
    ... except AssertionError:
    ...     print("there is no CUDA")
    there is no CUDA
    """
    check_cpu("cuda")
    raise AssertionError("unreachable")


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raise RuntimeError, as in a PyTorch without an accelerator.

    >>> import wengert
    >>> try:
    ...     wengert.zeros(2).pin_memory()
    ... except RuntimeError:
    ...     print("there is no accelerator")
    there is no accelerator
    """
    raise RuntimeError("Cannot access accelerator device when none is available: pin_memory()")


def share_memory_(self: Tensor) -> Tensor:
    """Move the elements to memory shared with forked processes.

    RuntimeError for a view, or a tensor with views: they would no longer share memory.

    >>> import wengert
    >>> wengert.zeros(2).share_memory_().is_shared()
    True
    """
    if is_shared(self) or self._outline.size == 0:
        return self
    if is_view(self) or any(v() is not None for v in getattr(self, "_views", ())):
        raise RuntimeError("share_memory_(): a view, or a tensor that has views, cannot be moved;"
                           " clone() it first")  # fmt: skip
    import mmap

    memory = mmap.mmap(-1, self._array.nbytes)
    shared = np.frombuffer(memory, self._outline.dtype).reshape(self._outline.shape)
    shared[...] = self._array
    self._array = shared
    return self


def is_shared(self: Tensor) -> bool:
    """Whether `share_memory_` moved the elements to shared memory.

    >>> import wengert
    >>> wengert.zeros(2).is_shared()
    False
    """
    import mmap

    base: Any = self._array
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return type(base) is mmap.mmap  # memory-mapped files of `load` are of a subclass


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to a number or the value of a 0-d tensor.

    >>> import wengert
    >>> wengert.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    if type(value) is not float and type(value) is not int:
        if isinstance(value, Tensor):
            if value._outline.ndim:
                raise RuntimeError(
                    "fill_ only supports 0-dimension value tensor but got tensor with"
                    f" {value._outline.ndim} dimensions."
                )
            return overwrite(self, value, "fill_")
        if not isinstance(value, (bool, int, float, complex, np.generic)):
            raise TypeError(
                "fill_() received an invalid combination of arguments - got"
                f" ({type(value).__name__}), expected a Number or a 0-d Tensor"
            )
        if isinstance(value, np.generic):
            value = value.item()
    number = dtypes.scalar_array(value, of_numpy[self._outline.dtype], "fill_")
    return overwrite_with(self, number, "fill_")


def zero_(self: Tensor) -> Tensor:
    """Set all elements to zero.

    >>> import wengert
    >>> wengert.ones(2).zero_()
    tensor([0., 0.])
    """
    return overwrite_with(self, 0, "zero_")


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor as `input` with all elements set to one value.

    >>> import wengert
    >>> wengert.fill(wengert.zeros(2), 3)
    tensor([3., 3.])
    """
    require_tensor("fill", "input", input)
    return fill_(clone(input), value)


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by a function of it; slow.

    >>> import wengert
    >>> wengert.tensor([1.0, 2.0]).apply_(lambda v: v * 10)
    tensor([10., 20.])
    """
    return _each(self, "apply_", callable, self)


def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and the one in `other`; slow.

    >>> import wengert
    >>> wengert.tensor([1.0, 2.0]).map_(wengert.tensor([3.0, 4.0]), lambda a, b: a + b)
    tensor([4., 6.])
    """
    require_tensor("map_", "other", other)
    return _each(self, "map_", callable, self, other)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of those in two other tensors; slow.

    >>> import wengert
    >>> one = wengert.ones(2)
    >>> wengert.tensor([1.0, 2.0]).map2_(one, one, lambda a, b, c: a + b + c)
    tensor([3., 4.])
    """
    require_tensor("map2_", "x", x)
    require_tensor("map2_", "y", y)
    return _each(self, "map2_", callable, self, x, y)


def _each(self: Tensor, name: str, function: Callable[..., Any], *operands: Tensor) -> Tensor:
    for operand in operands:
        if operand._edge is not None:
            raise RuntimeError(errors.numpy_of_graph(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}()"
                " instead.", operand._edge, f"{name}()",
            ))  # fmt: skip
    check_writable(self, name)
    check_memory(self._array, name)
    lists = [np.broadcast_to(t._array, self._outline.shape).ravel().tolist() for t in operands]
    values = [function(*elements) for elements in zip(*lists, strict=True)]
    self._array[...] = np.array(values).astype(self._outline.dtype).reshape(self._outline.shape)
    touch(self, name)
    return self


def _dlpack(self: Tensor, **options: Any) -> Any:
    if self._edge is not None:
        raise BufferError(errors.numpy_of_graph(
            "Can't export tensors that require gradient, use tensor.detach()",
            self._edge, "__dlpack__()",
        ))  # fmt: skip
    shown(self._array)
    return capsule_of(self._array, options)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self._edge is not None and type(self._edge) is not Leaf:
        raise RuntimeError(message(
            "non-leaf-deepcopy",
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy"
            " protocol at the moment.",
            [
                ("this call", current_call("deepcopy()", beyond=copy.__file__)),
                ("made by", naming.describe_node(self._edge)),
            ],
            [
                "copy the values: y.detach().clone()",
                "stay in the graph: y.clone()",
                "a module or dict is copied: let it hold the .detach()ed tensor",
            ],
        ))  # fmt: skip
    copied = memo.get(id(self))
    if copied is not None:
        return copied
    result = _rebuild(type(self), _copied(self._array, memo), self._edge is not None)
    memo[id(self)] = result
    g = getattr(self, "_grad", None)
    if g is not None:
        result._grad = copy.deepcopy(g.detach(), memo)
    if self.__dict__:
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _copied(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy of an array in a copy of all its memory, shared with copies of its other views."""
    if isinstance(array, WrapperOutline):
        return array  # it is never written
    memory = storage.owner(array)
    if not array.size or not layout.is_dense(memory):
        return layout.copy(array)
    start = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    flat = copy.deepcopy(memory, memo).ravel("K").view(np.uint8)
    return np.ndarray(array.shape, array.dtype, flat, start, array.strides)


def _rebuild(cls: type[Tensor] | None, array: np.ndarray, requires_grad: bool,
             attributes: dict[str, Any] | None = None) -> Tensor:  # fmt: skip
    """Build a leaf around an array, for copies and pickles.

    Pickles name subclasses alone (None: Tensor), as its own name depends on the torch alias.
    """
    result = new(cls or Tensor)
    result._array = dtypes.canonical(array)
    result._edge = leaf_of(result) if requires_grad else None
    result._cut = None
    if inferences:
        mark_inference(result)
    if attributes:
        result.__dict__.update(attributes)
    return result


def _rebuild_bits(
    cls: type[Tensor] | None, bits: np.ndarray, dtype: dtypes.dtype, *state: Any
) -> Tensor:
    """As `_rebuild`, of a dtype that NumPy does not know by name."""
    if is_float8(dtype.np):
        in_use.note()
    return _rebuild(cls, bits.view(dtype.np), *state)


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    kind = None if type(self) is Tensor else type(self)
    state = (self._edge is not None, self.__dict__ or None)
    dtype = of_numpy[self._outline.dtype]
    shown(self._array)  # a pickle may hold the memory itself
    if dtype.np.kind == "V" or is_float8(dtype.np):
        return _rebuild_bits, (kind, self._array.view(f"u{dtype.itemsize}"), dtype, *state)
    return _rebuild, (kind, self._array, *state)


_CONVERTERS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}  # fmt: skip
_METHODS = (numpy, item, tolist, to, type_as, cpu, cuda, pin_memory, share_memory_, is_shared,
            fill_, zero_, apply_, map_, map2_)  # fmt: skip
_SPECIAL = {
    "__array__": _array, "__array_wrap__": _array_wrap,
    "__float__": _float, "__int__": _int, "__complex__": _complex,
    "__bool__": _bool, "__index__": _index, "__format__": _format, "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0), "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce, "__hash__": object.__hash__,
}  # fmt: skip


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in _METHODS:
        setattr(define, function.__name__, function)
    define.type = type_
    for name, kind in _CONVERTERS.items():
        setattr(define, name, _converter(name, kind))
    for name, special in _SPECIAL.items():
        setattr(define, name, special)


__all__ = ["fill"]
