"""``torch._subclasses.fake_tensor``: tensors that say they are on a device, and have no memory.

They are meta tensors of a level of their own: its operations give fake tensors in turn. A mode
makes them of real ones, and while it is on, in the place of all that would be made.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from wengert.autograd.grad_mode import enable_grad
from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.core.device import cpu, default_device, device
from wengert.core.dispatching import dispatching
from wengert.core.dtypes import defaults, of_numpy
from wengert.core.fronts import arm_for_classes
from wengert.core.overriding import DisableTorchFunctionSubclass, silent
from wengert.core.signals import contextmanager
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor, leaf_of, new
from wengert.dispatch.aten import aten
from wengert.dispatch.calls import tensors_in
from wengert.dispatch.modes import TorchDispatchMode
from wengert.meta.tensors import MetaLevel, MetaTensor, NoData
from wengert.nn.parameter import Buffer, Parameter
from wengert.tensor.arguments import dtype_and_device


class _OperationError(RuntimeError):
    """An error about an operation, `func`."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(_OperationError):  # noqa: N818 (PyTorch's name)
    """A program asked for elements."""


class DynamicOutputShapeException(_OperationError):  # noqa: N818 (PyTorch's name)
    """The shape of a result depends on elements."""


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """A tensor that no fake one stands for."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FakeTensorDeviceMismatchError(RuntimeError):
    """An operation on fake tensors of several devices."""


_OPERATIONS = {"indexing with a boolean mask": "nonzero", "unique": "_unique2"}


def _operation(said: str) -> Any:
    """The operation of ``torch.ops.aten`` that an error is about."""
    name = said.partition("(")[0].strip()
    packet = aten.find(_OPERATIONS.get(name, name))
    return f"aten.{name}" if packet is None else getattr(packet, packet.overloads()[0])


class _FakeOutline(NoData):
    """The outline of a fake tensor: whose it is, and the device that it says."""

    __slots__ = ("device", "mode")

    def refusal(self) -> Exception:
        return DataDependentOutputException(_operation("_local_scalar_dense"))

    def shape_refusal(self, name: str) -> Exception:
        return DynamicOutputShapeException(_operation(name))


class _FakeLevel(MetaLevel):
    """Where operations on the fake tensors of a mode go."""

    what = "fake tensors"

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = weakref.ref(mode)

    def _made(self, name: str, values: Any, *args: Any) -> Any:
        mode: Any = self.mode()
        with mode.making(_device_of(tensors_in(values))):
            return getattr(super(), name)(*args)

    def tracer(self, value: Any) -> Any:
        return self._made("tracer", value, value)

    def apply(self, op: Any, inputs: Any, params: dict[str, Any]) -> Any:
        return self._made("apply", list(inputs), op, inputs, params)

    def apply_list(self, op: Any, inputs: Any, params: tuple[Any, ...]) -> Any:
        return self._made("apply_list", list(inputs), op, inputs, params)

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> Any:
        return self._made("apply_several", input, op, input, params)

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        return self._made("apply_function", args, function, args)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self._made("empty", (), shape, dtype)


class FakeTensor(MetaTensor):
    """A tensor with a shape, a dtype and a device, and no elements; `FakeTensorMode` makes them."""

    __slots__ = ()

    _array: Any  # _FakeOutline
    is_meta = False
    kinds: ClassVar[dict[type, type]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        silent.discard(cls)

    @property
    def fake_mode(self) -> FakeTensorMode:
        """The mode that it belongs to."""
        mode: FakeTensorMode = self._array.mode
        return mode

    @property
    def fake_device(self) -> device:
        """The device that it says it is on."""
        where: device = self._array.device
        return where

    @property
    def level(self) -> Any:  # type: ignore[override]
        return self._array.mode.level

    @property
    def device(self) -> device:  # type: ignore[override]
        """The device that it says it is on."""
        return self.fake_device

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        """Whether it says that it is on the CPU."""
        return self.fake_device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether it says that it is on a GPU."""
        return self.fake_device.type == "cuda"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        values, options = args, kwargs or {}
        fakes = [x for x in tensors_in((values, options)) if isinstance(x, FakeTensor)]
        mode = fakes[0].fake_mode
        values, options = mode.converted(func, values, options)
        where = options.get("device") or _device_of(fakes)
        with DisableTorchFunctionSubclass(), mode.making(where):
            return func(*values, **options)

    def to(self, *args: Any, **options: Any) -> Any:
        """The tensor in another dtype, or one that says it is on another device."""
        _, where, _ = dtype_and_device(args, options)
        if where is None:
            return _OWN_TO(self, *args, **options)
        where = device(where)
        if where.type not in ("cpu", "meta"):
            raise RuntimeError(f"PyTorch is not linked with support for {where.type} devices")
        with self.fake_mode.making(where):
            result = _OWN_TO(self, *args, **options)
        return result if where == result.device else self.fake_mode.placed(result, where)

    def cpu(self, memory_format: Any = None) -> Any:
        """The tensor as one that says it is on the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **options: Any) -> Any:
        """RuntimeError, as there is no GPU."""
        return self.to("cuda")

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: there are no elements."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def item(self) -> Any:
        """DataDependentOutputException: there is no element."""
        if self._array.size != 1:
            count = self._array.size
            raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")
        raise self._array.refusal()

    __float__ = __int__ = __complex__ = __index__ = item

    def tolist(self) -> Any:
        """DataDependentOutputException: there are no elements."""
        raise self._array.refusal()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.fake_mode.twin(self)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle a FakeTensor of shape {list(self._array.shape)}")

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        array, parts = self._array, []
        if array.device.type != "cpu":
            parts.append(f"device='{array.device}'")
        parts.append(f"size={tuple(array.shape)}")
        dtype = of_numpy[array.dtype]
        if dtype is not defaults.dtype:
            parts.append(f"dtype={dtype}")
        if self._edge is not None:
            node = self.grad_fn
            parts.append("requires_grad=True" if node is None else f"grad_fn=<{node.name()}>")
        text = f"FakeTensor(..., {', '.join(parts)})"
        return f"Parameter({text})" if isinstance(self, Parameter) else text


_OWN_TO: Any = Tensor.to


class _FakeParameter(FakeTensor, Parameter):  # type: ignore[misc]
    """A parameter that is a fake tensor."""

    __slots__ = ()


class _FakeBuffer(FakeTensor, Buffer):  # type: ignore[misc]
    """A buffer that is a fake tensor."""

    __slots__ = ()


FakeTensor.kinds.update({Parameter: _FakeParameter, Buffer: _FakeBuffer})


class FakeTensorMode(TorchDispatchMode):
    """A context in which tensors are made without memory, and a maker of fake tensors.

    Args:
        allow_fallback_kernels: accepted; shapes are found in one way.
        allow_non_fake_inputs: whether a real tensor beside fake ones counts as one of them.
        shape_env: for symbolic sizes, which there are none of: None.
        static_shapes: whether sizes are numbers; they are.
        export: accepted.
    """

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False,
        shape_env: Any = None, static_shapes: bool | None = None, export: bool = False,
    ) -> None:  # fmt: skip
        if shape_env is not None or static_shapes is False:
            raise NotImplementedError(
                "FakeTensorMode: sizes are numbers here, shape_env and static_shapes=False are not"
                " supported"
            )
        super().__init__()
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.static_shapes, self.shape_env = True, None
        self.level = _FakeLevel(self)
        self._twins: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._entered: list[Any] = []
        silent.difference_update((FakeTensor, _FakeParameter, _FakeBuffer))
        arm_for_classes()

    def __enter__(self) -> Any:
        self._entered.append((default_device.meta, default_device.fake))
        default_device.meta, default_device.fake = True, self._maker(cpu)
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        default_device.meta, default_device.fake = self._entered.pop()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        values, options = self.converted(func, args, kwargs or {})
        with self.making(options.get("device") or cpu):
            return func(*values, **options)

    def from_tensor(
        self, tensor: Tensor, *, static_shapes: bool | None = None, source: Any = None,
        symbolic_context: Any = None, trace: bool = True,
    ) -> Any:  # fmt: skip
        """The fake tensor that stands for a real one: always the same for the same one."""
        if isinstance(tensor, FakeTensor):
            self._check_own(tensor)
            return tensor
        if isinstance(tensor, SparseTensor):
            raise UnsupportedFakeTensorException("sparse tensors have no fake ones")
        twin = self._twins.get(id(tensor))
        if twin is None or twin._twin_of() is not tensor:
            twin = self._twins[id(tensor)] = self.twin(tensor)
            twin._twin_of = weakref.ref(tensor)
        return twin

    def twin(self, tensor: Tensor) -> Any:
        """A fresh fake tensor like another."""
        array: Any = tensor._array
        made: Any = self._maker(tensor.device)(array.shape, array.dtype, array.strides, None)
        if isinstance(tensor, Parameter):
            made = Parameter(made, tensor.requires_grad)
        elif tensor.requires_grad:
            made._edge = leaf_of(made)
            if not tensor.is_leaf:
                with enable_grad():
                    made = made.clone()
        if tensor.is_leaf and tensor.grad is not None:
            made.grad = self.from_tensor(tensor.grad)
        return made

    def placed(self, tensor: Any, where: Any) -> Any:
        """A fake tensor in the same place of the graph that says it is on another device."""
        array = tensor._array
        made = self._maker(where)(array.shape, array.dtype, array.strides, None)
        made._edge = tensor._edge
        return made

    @contextmanager
    def making(self, where: Any) -> Iterator[None]:
        """A context in which what has no memory is a fake tensor on that device.

        No mode sees the operations in there, which find out about shapes.
        """
        before, default_device.fake = default_device.fake, self._maker(where)
        computing, dispatching.computing = dispatching.computing, True
        try:
            yield
        finally:
            default_device.fake, dispatching.computing = before, computing

    def _maker(self, where: Any) -> Any:
        named = _numbered(where)

        def make(shape: Any, dtype: np.dtype[Any], strides: Any, asked: Any) -> FakeTensor:
            made: FakeTensor = new(FakeTensor)
            made._array = _FakeOutline(shape, dtype, strides)
            made._array.mode = self
            made._array.device = named if asked is None else _numbered(asked)
            made._edge = None
            return made

        return make

    def converted(self, func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments of a call, of which every tensor is this mode's.

        AssertionError for a tensor of another, and for a real one unless they are allowed.
        """
        others = []
        for x in tensors_in((args, kwargs)):
            if isinstance(x, FakeTensor):
                self._check_own(x)
            else:
                others.append(x)
        if not others:
            return args, kwargs
        if not self.allow_non_fake_inputs:
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with"
                f" 'allow_non_fake_inputs'. Found in {getattr(func, '__name__', func)}() a tensor"
                f" of shape {list(others[0].shape)}"
            )
        values, spec = flatten_tree((args, kwargs))
        fakes = [self.from_tensor(x) if isinstance(x, Tensor) else x for x in values]
        made: tuple[Any, dict[str, Any]] = unflatten_tree(fakes, spec)
        return made

    def _check_own(self, tensor: FakeTensor) -> None:
        if tensor.fake_mode is not self:
            raise AssertionError(
                f"Mixing fake modes NYI: a tensor of {tensor.fake_mode!r} beside those of {self!r}"
            )


def _numbered(where: Any) -> device:
    """A device; of several of a kind the first, if none is said."""
    named = device(where)
    one = named.type in ("cpu", "meta") or named.index is not None
    return named if one else device(named.type, 0)


def _device_of(tensors: Iterable[Any]) -> device:
    """Where the result of an operation is: single numbers on the CPU go to the others' device."""
    found: dict[device, bool] = {}  # whether only single numbers are there
    for x in tensors:
        if isinstance(x, FakeTensor):
            found[x.fake_device] = found.get(x.fake_device, True) and not x._array.shape
    if len(found) > 1 and found.get(cpu):
        del found[cpu]
    if len(found) > 1:
        names = " and ".join(map(str, found))
        raise FakeTensorDeviceMismatchError(
            "Expected all tensors to be on the same device, but found at least two devices,"
            f" {names}!"
        )
    return next(iter(found), cpu)


def is_fake(x: Any) -> bool:
    """Whether a value is a fake tensor."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: Any) -> FakeTensorMode | None:
    """The mode of a fake tensor; None for anything else."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """A context in which tensors are real again."""
    before = default_device.meta, default_device.fake
    default_device.meta, default_device.fake = False, None
    try:
        yield
    finally:
        default_device.meta, default_device.fake = before


__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor",
    "FakeTensorDeviceMismatchError", "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake",
    "maybe_get_fake_mode", "unset_fake_temporarily",
]  # fmt: skip
