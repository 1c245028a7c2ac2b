"""Tensors on the meta device.

They are tracers of a level that never ends: operations hand them over to it, as they do with
those of a transform, and it answers with another tensor without elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any, ClassVar

import numpy as np

from wengert import meta
from wengert.autograd.custom.transforms import apply_and_record
from wengert.autograd.grad_mode import no_grad
from wengert.autograd.refusals import refusal_node
from wengert.autograd.transforms.levels import Level
from wengert.core.device import default_device, device, on_meta
from wengert.core.dtypes import defaults, of_numpy
from wengert.core.layout import contiguous_format
from wengert.core.outline import Outline
from wengert.core.tensor import (
    Leaf,
    Tensor,
    Tracer,
    getframe,
    internal,
    leaf_of,
    memory_of,
    mode,
    new,
    shape_of,
)
from wengert.meta.dense import rows
from wengert.ops.formats import check_format, order_in
from wengert.ops.publish import recorded
from wengert.ops.variadic import output_of, record

Shape = tuple[int, ...]

META = device("meta")
NO_DATA = "Cannot copy out of meta tensor; no data!"
_REMEDY = (
    "a tensor on the meta device has a shape and a dtype, and no elements; make one on the CPU"
    " (torch.empty_like(x, device='cpu'), or Module.to_empty)"
)


class NoData(Outline):
    """The outline of a meta tensor."""

    __slots__ = ("base", "offset")

    base: NoData | None  # the outline of all of the memory that it would show a part of
    offset: int  # how many bytes of that lie before its first one

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.base, self.offset = None, 0

    def show(self, outline: NoData, offset: int) -> None:
        """Be a view that begins so many bytes behind another outline."""
        self.base = outline.owner
        self.offset = outline.offset + offset

    @property
    def owner(self) -> NoData:
        """The outline of the whole memory."""
        return self if self.base is None else self.base

    def refusal(self) -> Exception:
        """What asking for elements raises."""
        return NotImplementedError(f"{NO_DATA} {_REMEDY.capitalize()}")

    def shape_refusal(self, name: str) -> Exception:
        """What an operation raises whose result has a shape that depends on elements."""
        return NotImplementedError(
            f"{name} of a tensor on the meta device: the shape of the result depends on its"
            " elements, and it has none"
        )


class MetaLevel(Level):
    """Where operations on meta tensors go: it lasts, and stands outside of all transforms."""

    what = "meta device"
    depth = 0
    eager = memoryless = True

    def check_running(self) -> None:
        """It always is."""

    def tracer(self, value: Any) -> MetaTensor:
        """A meta tensor with the outline of `value`, a tensor."""
        array = value._array
        return without_memory(array.shape, array.dtype, array.strides)

    def lower(self, value: Any) -> Any:
        """A tensor of zeros in place of a meta tensor: what operations learn shapes by."""
        return meta.shapes.standing_in(value) if isinstance(value, MetaTensor) else value

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The outline of what an operation gives, and a node of it if it is to be recorded."""
        _check_same_device(inputs, op.public_name)
        edges = {
            i: x._edge
            for i, x in zip(op.inputs, inputs, strict=True)
            if isinstance(x, Tensor) and x._edge is not None and op.rules[i] is not None
        }
        recording = bool(edges) and mode.site is not None
        if recording and op.reference is not None:
            return op.reference(*inputs, **params)
        with no_grad():
            if op.view:
                outline, offset = meta.shapes.view_of(op, inputs, params)
            else:
                outline, offset = meta.shapes.outline_of(op, inputs, params), None
        result = without_memory(*outline)
        if offset is not None:
            result._array.show(inputs[0]._array, offset)
        if recording:
            needed = {name for i in edges for name in op.wants[i]}
            saves = [op.read(n, inputs, params, result) if n in needed else None for n in op.keeps]
            input_edges = [edges.get(i) for i in op.differentiable]
            result._edge = recorded(op, mode.where, input_edges, saves, outline[0])
        return result

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """As `apply`, for an operation on a list of tensors."""
        _check_same_device(inputs)
        outline, kept = meta.lists.outline_of_list(op, [memory_of(x) for x in inputs], params)
        result = without_memory(*outline)
        edges = tuple([x._edge for x in inputs])
        if mode.site is not None and any(edges):
            node = record(op.kind, edges, result._array.shape, mode.where)
            node.kept = kept
            result._edge = node
        return result

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """As `apply`, for an operation with several outputs."""
        with no_grad():
            outs = [self.tracer(out) for out in op.function(self.lower(input), *params)]
        if mode.site is not None and input._edge is not None:
            node = record(op.whole, (input._edge,), tuple(input.shape), mode.where)
            _, node.kept = op.forward(memory_of(input), *params)
            node.shapes = [tuple(out.shape) for out in outs]
            for k, (out, shape) in enumerate(zip(outs, node.shapes, strict=True)):
                out._edge = output_of(op.part, node, k, shape)
        return tuple(outs)

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """The user's `forward` on meta tensors, with `backward` recorded."""
        return apply_and_record(self, function, args)

    def detach(self, value: Any) -> Any:
        """The same without its place in a graph."""
        return self.tracer(value)

    def cut(self, target: Any) -> None:
        """Take a tensor out of its graph, in place."""
        target._edge = None

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> MetaTensor:
        """A meta tensor of that shape."""
        return without_memory(shape, dtype)

    def beside(self, value: Any, make: Callable[[Shape], Any], lead: Shape) -> Any:
        """What `make` gives, as a meta tensor."""
        return self.tracer(make(lead))

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Nothing has to be written; NotImplementedError if elements are wanted elsewhere."""
        if not isinstance(target, MetaTensor):
            raise NoData((), np.dtype(np.float32), ()).refusal()
        if mode.site is not None and result._edge is not None:
            target._edge = result._edge

    def adopt(self, target: Any, result: Any) -> None:
        """Give a tensor the outline and the history of another."""
        target._array, target._edge = result._array, result._edge


class MetaTensor(Tracer):
    """A tensor on the meta device.

    >>> import wengert
    >>> x = wengert.empty(1000, 2000, device="meta")
    >>> x @ x.T
    tensor(..., device='meta', size=(1000, 1000))
    """

    __slots__ = ()

    _array: Any  # NoData
    level = MetaLevel()
    device = META
    is_meta = True
    is_cpu = False
    _memoryless = True
    kinds: ClassVar[dict[type, type]] = {}  # classes of tensors without memory, by those with it

    @property
    def value(self) -> Any:  # type: ignore[override]
        """Zeros: indices among them are valid, and whoever asks for the elements is refused."""
        return meta.shapes.standing_in(self)

    @property
    def data(self) -> Tensor:
        """The same tensor without a graph."""
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, MetaTensor):
            raise RuntimeError(
                "incompatible tensor type: .data of a tensor on the meta device must be one on it"
                f" as well, got one on '{other.device}'"
            )
        self._array = other._array

    def numpy(self, *, force: bool = False) -> Any:
        """TypeError: there are no elements. NotImplementedError with `force`, as in PyTorch."""
        if force:
            raise self._array.refusal()
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to"
            f" host memory first. (It has no elements to copy, either: {_REMEDY})"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def item(self) -> Any:
        """RuntimeError: there is no element."""
        count = self._array.size
        if count != 1:
            raise RuntimeError(
                f"a Tensor with {count} elements cannot be converted to Scalar: item() got one of"
                f" shape {list(self._array.shape)}"
            )
        raise RuntimeError(f"Tensor.item() cannot be called on meta tensors: {_REMEDY}")

    def _number(self) -> Any:
        """As `item`, for bool() and its like."""
        count = self._array.size
        if count != 1:
            many = "more than one value" if count else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        return self.item()

    __bool__ = _number
    __float__ = __int__ = __complex__ = item

    def __contains__(self, element: Any) -> bool:
        return bool(self.item())

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def data_ptr(self) -> int:
        """0: there is no memory."""
        return 0

    def storage_offset(self) -> int:
        """How many elements would lie before the first one."""
        return self._array.offset // self._array.itemsize

    def _without_elements(self, *args: Any, **options: Any) -> Any:
        """NotImplementedError: what it makes depends on the elements."""
        raise self._array.refusal()

    to_sparse = to_sparse_coo = to_sparse_csr = to_sparse_csc = _without_elements
    to_sparse_bsr = to_sparse_bsc = sparse_mask = _without_elements

    def type(self, dtype: Any = None, *args: Any, **options: Any) -> Any:
        """The name of the old type, or the tensor in another dtype."""
        if dtype is None:
            return f"torch.meta.{of_numpy[self._array.dtype].short}Tensor"
        return Tensor.type(self, dtype, *args, **options)

    def resize_(self, *size: Any, memory_format: Any = None) -> Any:
        """Give the tensor another shape."""
        if self._edge is not None:
            raise RuntimeError("cannot resize variables that require grad: resize_()")
        sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        shape = tuple(map(int, sizes))
        order = order_in(check_format("resize_", memory_format, contiguous_format), len(shape))
        kind = self._array.dtype
        self._array = without_memory(shape, kind, rows(shape, kind, order))._array
        return self

    def share_memory_(self) -> Any:
        """RuntimeError: there is no memory to share."""
        raise RuntimeError("_share_fd_: only available on CPU: a meta tensor has no memory")

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError(f"Cannot pack tensors on meta: {_REMEDY}")

    def __dlpack_device__(self) -> Any:
        raise ValueError("Unknown device type meta for Dlpack")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._edge is not None and not isinstance(self._edge, Leaf):
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy"
                f" protocol at the moment: this one was made by {self._edge.name()}; detach() it"
            )
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = _rebuilt(*self.__reduce_ex__(2)[1])
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        array = self._array
        return _rebuilt, (
            type(self), array.shape, array.dtype.str, array.strides, self._edge is not None,
        )  # fmt: skip

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        dtype = of_numpy[self._array.dtype]
        text = f"tensor(..., device='meta', size={tuple(self._array.shape)}"
        if dtype is not defaults.dtype:
            text += f", dtype={dtype}"
        if self._edge is not None:
            name = self.grad_fn
            text += ", requires_grad=True" if name is None else f", grad_fn=<{name.name()}>"
        return text + ")"


def without_memory(
    shape: Any, dtype: np.dtype[Any], strides: Any = None, where: Any = None
) -> MetaTensor:
    """A meta tensor; its rows lie one behind the other if no strides are given.

    `where` is the device that was asked for: what a fake tensor says it is on.
    """
    shape = tuple(shape)
    if strides is None or 0 in shape:
        strides = rows(shape, dtype)
    if default_device.fake is not None:
        fake: MetaTensor = default_device.fake(shape, dtype, strides, where)
        return fake
    made: MetaTensor = new(MetaTensor)
    made._array = NoData(shape, dtype, strides)
    made._edge = None
    return made


def like(tensor: Tensor, dtype: np.dtype[Any], order: Sequence[int] | None = None) -> MetaTensor:
    """A meta tensor of the shape of another, laid out in that order or its own."""
    array = tensor._array
    if order is None:
        order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    return without_memory(array.shape, dtype, rows(array.shape, dtype, order))


def moved(tensor: Tensor, where: Any) -> Tensor:
    """The tensor on a device; NotImplementedError from the meta device to one with memory."""
    if on_meta(where):
        if isinstance(tensor, MetaTensor):
            return tensor
        array = tensor._array
        outline = without_memory(array.shape, array.dtype, array.strides)
        edge = tensor._edge
        if edge is not None and mode.site is not None:
            outline._edge = refusal_node(edge, (edge,), outline._array.refusal)
        return outline
    if isinstance(tensor, MetaTensor):
        raise tensor._array.refusal()
    return tensor


def _rebuilt(
    kind: type[MetaTensor], shape: Shape, dtype: str, strides: Shape, requires_grad: bool
) -> MetaTensor:
    made: Any = without_memory(shape, np.dtype(dtype), strides)
    made.__class__ = kind
    if requires_grad:
        made._edge = leaf_of(made)
    return made


# What a user must not call with tensors of both devices. Other functions get no more than one
# tensor, or put tensors of their own (indices, weights, masks) beside it.
_OF_SEVERAL = frozenset({
    "add", "sub", "mul", "div", "pow", "matmul", "mm", "bmm", "linear", "where", "maximum",
    "minimum", "eq", "ne", "lt", "le", "gt", "ge", "cat", "stack", "hstack", "vstack", "concat",
    "addmm", "baddbmm", "mse_loss", "l1_loss", "cross_entropy", "dot", "outer",
    "lerp", "atan2", "remainder", "fmod", "addcmul", "addcdiv",
})  # fmt: skip
# What gets the parameters of a module and what a user calls it with.
_OF_MODULES = frozenset({"linear", "conv1d", "conv2d", "conv3d", "layer_norm", "batch_norm"})
_FIRST_CALL = frozenset({"_stub", "_first_call", "_operator", "_call"})


def _called_by_user(frame: FrameType | None) -> str:
    """The function of this package that the code outside of it called last."""
    name = ""
    while frame is not None and _is_own(frame.f_code):
        if frame.f_code.co_name not in _FIRST_CALL:
            name = frame.f_code.co_name
        frame = frame.f_back
    return name.strip("_")


def _is_own(code: CodeType) -> bool:
    return code.co_filename in internal


def _check_same_device(inputs: Sequence[Any], name: str = "") -> None:
    """Raise if a tensor with elements that is no single number stands beside a meta tensor."""
    for x in inputs:
        if isinstance(x, Tensor) and not isinstance(x, Tracer) and shape_of(x) != ():
            if name not in _OF_MODULES:
                name = _called_by_user(getframe(1))
                if name not in _OF_SEVERAL:
                    return
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices,"
                f" cpu and meta! (when checking the arguments of {name}(): one of them is a CPU"
                f" tensor of shape {list(x.shape)})"
            )
