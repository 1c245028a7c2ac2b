"""Tensors on the meta device.

They are tracers of a level that never ends: operations hand them over to it, as they do with
those of a transform, and it answers with another tensor without elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from wengert.autograd.grad_mode import no_grad
from wengert.autograd.transforms.levels import Level
from wengert.core.device import device, on_meta
from wengert.core.dtypes import of_numpy
from wengert.core.outline import Outline
from wengert.core.tensor import Tensor, Tracer, getframe, internal, leaf_of, mode, new, shape_of
from wengert.meta.shapes import outline_of, rows, standing_in
from wengert.ops.publish import recorded

Shape = tuple[int, ...]

META = device("meta")
NO_DATA = "Cannot copy out of meta tensor; no data!"


class NoData(Outline):
    """The outline of a meta tensor."""

    __slots__ = ()

    base = None  # whose memory it shows: nobody's

    def refusal(self) -> Exception:
        """What asking for elements raises."""
        return NotImplementedError(
            f"{NO_DATA} A tensor on the meta device has a shape and a dtype, and no elements:"
            " make one on the CPU (torch.empty_like(x, device='cpu'), or Module.to_empty)"
        )

    def shape_refusal(self, name: str) -> Exception:
        """What an operation raises whose result has a shape that depends on elements."""
        return NotImplementedError(
            f"{name}() of a tensor on the meta device: the shape of the result depends on its"
            " elements, and it has none"
        )


class MetaLevel(Level):
    """Where operations on meta tensors go: it lasts, and stands outside of all transforms."""

    what = "meta device"
    depth = 0
    eager = True

    def check_running(self) -> None:
        """It always is."""

    def tracer(self, value: Any) -> MetaTensor:
        """A meta tensor with the outline of `value`, a tensor."""
        array = value._array
        return memoryless(array.shape, array.dtype, array.strides)

    def lower(self, value: Any) -> Any:
        """A tensor of zeros in place of a meta tensor: what operations learn shapes by."""
        return standing_in(value) if isinstance(value, MetaTensor) else value

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The outline of what an operation gives, and a node of it if it is to be recorded."""
        _check_same_device(inputs)
        edges = {
            i: x._edge
            for i, x in zip(op.inputs, inputs, strict=True)
            if isinstance(x, Tensor) and x._edge is not None and op.rules[i] is not None
        }
        recording = bool(edges) and mode.site is not None
        if recording and op.reference is not None:
            return op.reference(*inputs, **params)
        with no_grad():
            outline = outline_of(op, inputs, params)
        result = memoryless(*outline)
        if recording:
            needed = {name for i in edges for name in op.wants[i]}
            saves = [op.read(n, inputs, params, result) if n in needed else None for n in op.keeps]
            input_edges = [edges.get(i) for i in op.differentiable]
            result._edge = recorded(op, mode.where, input_edges, saves, outline[0])
        return result

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """As `apply`; nothing is recorded."""
        with no_grad():
            return self.tracer(op.function([self.lower(x) for x in inputs], *params))

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """As `apply`; nothing is recorded."""
        with no_grad():
            outs = op.function(self.lower(input), *params)
        return tuple([self.tracer(out) for out in outs])

    def detach(self, value: Any) -> Any:
        """The same without its place in a graph."""
        return self.tracer(value)

    def cut(self, target: Any) -> None:
        """Take a tensor out of its graph, in place."""
        target._edge = None

    def beside(self, value: Any, make: Callable[[Shape], Any], lead: Shape) -> Any:
        """What `make` gives, as a meta tensor."""
        return self.tracer(make(lead))

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Nothing has to be written; NotImplementedError if elements are wanted elsewhere."""
        if not isinstance(target, MetaTensor):
            raise NoData((), np.dtype(np.float32), ()).refusal()

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

    level = MetaLevel()
    device = META
    is_meta = True

    @property
    def value(self) -> Any:  # type: ignore[override]
        """Zeros: indices among them are valid, and whoever asks for the elements is refused."""
        return standing_in(self)

    @property
    def data(self) -> Tensor:  # type: ignore[override]
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

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
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
        if dtype.short not in ("Float", "Long", "Bool"):
            text += f", dtype={dtype}"
        if self._edge is not None:
            name = self.grad_fn
            text += ", requires_grad=True" if name is None else f", grad_fn=<{name.name()}>"
        return text + ")"


def memoryless(shape: Any, dtype: np.dtype[Any], strides: Any = None) -> MetaTensor:
    """A meta tensor; its rows lie one behind the other if no strides are given."""
    made: MetaTensor = new(MetaTensor)
    shape = tuple(shape)
    if strides is None or 0 in shape:
        strides = rows(shape, dtype)
    made._array = NoData(shape, dtype, strides)  # type: ignore[assignment]
    made._edge = None
    return made


def like(tensor: Tensor, dtype: np.dtype[Any], order: Sequence[int] | None = None) -> MetaTensor:
    """A meta tensor of the shape of another, laid out in that order or its own."""
    array = tensor._array
    if order is None:
        order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    return memoryless(array.shape, dtype, rows(array.shape, dtype, order))


def moved(tensor: Tensor, where: Any) -> Tensor:
    """The tensor on a device; NotImplementedError from the meta device to one with memory."""
    if on_meta(where):
        if isinstance(tensor, MetaTensor):
            return tensor
        array = tensor._array
        outline = memoryless(array.shape, array.dtype, array.strides)
        if tensor._edge is not None and mode.site is not None:
            outline._edge = tensor._edge
        return outline
    if isinstance(tensor, MetaTensor):
        raise tensor._array.refusal()
    return tensor


def _rebuilt(
    kind: type[MetaTensor], shape: Shape, dtype: str, strides: Shape, requires_grad: bool
) -> MetaTensor:
    made: Any = memoryless(shape, np.dtype(dtype), strides)
    made.__class__ = kind
    if requires_grad:
        made._edge = leaf_of(made)
    return made  # type: ignore[no-any-return]


# What a user must not call with tensors of both devices. Other functions get no more than one
# tensor, or put tensors of their own (indices, weights, masks) beside it.
_OF_SEVERAL = frozenset({
    "add", "sub", "mul", "div", "pow", "matmul", "mm", "bmm", "linear", "where", "maximum",
    "minimum", "eq", "ne", "lt", "le", "gt", "ge",
})  # fmt: skip


def _called_by_user(frame: FrameType | None) -> str:
    """The function of this package that the code outside of it called last."""
    name = ""
    while frame is not None and _is_own(frame.f_code):
        name, frame = frame.f_code.co_name, frame.f_back
    return name.strip("_")


def _is_own(code: CodeType) -> bool:
    return code.co_filename in internal


def _check_same_device(inputs: Sequence[Any]) -> None:
    """Raise if a tensor with elements that is no single number stands beside a meta tensor."""
    for x in inputs:
        if isinstance(x, Tensor) and not isinstance(x, Tracer) and shape_of(x) != ():
            name = _called_by_user(getframe(1))
            if name not in _OF_SEVERAL:
                return
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices,"
                f" cpu and meta! (when checking the arguments of {name}(): one of them is a CPU"
                f" tensor of shape {list(x.shape)})"
            )
