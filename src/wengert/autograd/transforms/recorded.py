"""Recording a function's operations while it runs on real values: what `make_fx` is made of.

A tracer stands for a value, and for the node of a program that computes it. Operations run on
the values, and a `Recorder` writes them down. What no tracer takes part in is not recorded:
its result is a constant of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from wengert.autograd.transforms.levels import Level, root_and_views
from wengert.autograd.transforms.outlined import OutlinedTracer
from wengert.core.dtypes import of_numpy
from wengert.core.outline import Outline
from wengert.core.size import Size
from wengert.core.storage import owner
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.ops.casting import _cast, _discrete
from wengert.ops.strided import shown_window
from wengert.ops.subscript import index, index_written


class Recorder(Protocol):
    """Writes a program down. Nodes are its own: a level only keeps them."""

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> Any:
        """The node of a call, in whose arguments nodes stand for tensors."""

    def item(self, node: Any, index: int, value: Any) -> Any:
        """The node of one of the results of a node."""

    def constant(self, value: Tensor) -> Any:
        """The node of a tensor that the program does not compute."""

    def viewed(self, node: Any, source: Any) -> None:
        """Note that what a node computes shows the memory of what another does."""

    def shows_none(self, node: Any) -> bool:
        """Whether what a node computes has memory of its own, which no other node shows."""

    def spare(self, node: Any, source: Any) -> None:
        """Let a call read a copy of a value that is about to be written over, if gradients do."""

    def draw(self, draw: Callable[..., Any], shape: tuple[int, ...], result: Any) -> Any:
        """The node of random numbers."""


class UnreadOutline(Outline):
    """What is known of a recorded value: everything but its elements, which change with inputs."""

    __slots__ = ()

    def refusal(self) -> Exception:
        """The error for reading elements."""
        return RuntimeError(_UNREAD)

    def shape_refusal(self, name: str) -> Exception:
        """The error of an operation whose result has a shape that depends on elements."""
        return RuntimeError(
            f"{name}: the shape of its result depends on the elements of a tensor, which change"
            " with the inputs of a program that is being recorded"
        )


_UNREAD = (
    "Could not extract specialized data from a tensor while a program is being recorded: its"
    " elements depend on the inputs. It looks like you're calling .item(), bool(), int(), a"
    " print or NumPy on a tensor, or branching on one; compute with operations instead"
    " (torch.where for a condition)"
)


class Recorded(OutlinedTracer):
    """A value, and the node that computes it."""

    __slots__ = ()
    outline = UnreadOutline
    node: Any

    @property
    def _edge(self) -> Any:  # type: ignore[override]
        return None

    def numpy(self, *args: Any, **options: Any) -> Any:
        """RuntimeError: the elements change with the inputs."""
        raise RuntimeError(_UNREAD)

    __array__ = numpy

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"RecordedTensor(shape={tuple(self.shape)}, node={self.node})"


class RecordLevel(Level):
    """A recording. Gradients are not recorded beside it.

    Attributes:
        grad: whether the function finds gradients on: they are off by default.
    """

    what = "recording"
    kind = Recorded
    composite = True
    grad = False

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def recorded(self, value: Any, node: Any) -> Recorded:
        """A tracer of a value that a node computes."""
        tracer: Recorded = self.tracer(value)
        tracer.node = node
        return tracer

    def node_of(self, value: Any) -> Any:
        """The node of a tensor; a constant's where it is no tracer of this level."""
        if self.owns(value):
            return value.node
        return self.recorder.constant(value) if isinstance(value, Tensor) else value

    def _call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> Any:
        nodes = _mapped(args, self.node_of)
        return self.recorder.call(function, nodes, _mapped(kwargs, self.node_of), out)

    def _outputs(self, node: Any, outs: Iterable[Any]) -> list[Any]:
        """Tracers of the several results of a node, which may be nested lists and tuples."""
        results: list[Any] = []
        for k, out in enumerate(outs):
            part = self.recorder.item(node, k, out)
            if isinstance(out, Tensor):
                results.append(self.recorded(out, part))
            else:
                results.append(type(out)(self._outputs(part, out)))
        return results

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute further out, and write the operation down."""
        self.check_running()
        inputs = [wrap(x) if isinstance(x, np.ndarray) else x for x in inputs]
        if op.name in _IN_PARTS:
            return op.reference(*inputs, **params)
        out = op([self.lower(x) for x in inputs], params)
        result = self.recorded(out, self._node(op, inputs, params, out))
        if op.view and owner(memory_of(out)) is owner(memory_of(inputs[0])):
            self.recorder.viewed(result.node, self.node_of(inputs[0]))
        return result

    def _node(self, op: Any, inputs: Sequence[Any], params: dict[str, Any], out: Any) -> Any:
        if op.function in _SPELLED:
            function, args, kwargs = _SPELLED[op.function](*inputs, **params)
        elif op.in_order:
            function, args, kwargs = op.function, inputs, params
        else:
            kwargs = dict(zip(op.inputs, inputs, strict=True)) | params
            function, args = op.function, [kwargs.pop(n) for n in _leading(op)]
        kwargs = {k: v for k, v in kwargs.items() if not _is_default(op, k, v)}
        return self._call(function, args, kwargs, out)

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """Compute further out, and write the operation down."""
        self.check_running()
        out = op.function([self.lower(x) for x in inputs], *params)
        return self.recorded(out, self._call(op.function, [list(inputs), *params], {}, out))

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute further out, and write the operation and its outputs down."""
        self.check_running()
        outs = op.function(self.lower(input), *params)
        results = self._outputs(self._call(op.function, [input, *params], {}, outs), outs)
        for result in results:
            self.recorder.viewed(result.node, input.node)
        return tuple(results)

    def call(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """A function that is written down as one call (see `ops.operands.as_one_call`)."""
        self.check_running()
        out = function(*_mapped(args, self.lower), **_mapped(kwargs, self.lower))
        node = self._call(function, args, kwargs, out)
        if isinstance(out, Tensor):
            return self.recorded(out, node)
        return type(out)(self._outputs(node, out))

    def demand(self, function: Callable[..., Any], condition: Any, message: Any) -> None:
        """A function that raises where a condition does not hold: the program calls it."""
        self.check_running()
        self._call(function, [condition, message], {}, None)

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """NotImplementedError: a program has operations, and no other backwards."""
        raise NotImplementedError(
            f"recording {function.__name__}: an autograd.Function has a backward of its own, which"
            " a program of operations does not hold; record what its forward computes instead"
        )

    def drawn(self, draw: Callable[..., Any], shape: tuple[int, ...], numbers: Any) -> Any:
        """Random numbers: the program draws its own."""
        return self.recorded(numbers, self.recorder.draw(draw, shape, numbers))

    def detach(self, value: Any) -> Any:
        """A node of its own: gradients end there when the program runs."""
        inner = value.value.detach()
        node = self.recorder.call(Tensor.detach, [value.node], {}, inner)
        self.recorder.viewed(node, value.node)
        return self.recorded(inner, node)

    def cut(self, target: Any) -> None:
        """Nothing to cut."""

    def beside(self, value: Any, make: Callable[[Any], Any], lead: Any) -> Any:
        """A fresh tensor; a constant until something is written to it."""
        return make(lead)

    def take(self, target: Any, tangent: Any = None) -> tuple[Any, list[Any]]:
        """As everywhere; the program writes to a copy of what was a constant."""
        root, views = super().take(target)
        source = self.recorder.constant(root.value)
        root.node = self.recorder.call(Tensor.clone, [source], {}, root.value)
        for view in views:
            shown: Any = shown_window(self.recorded(root.value, root.node), root, view)
            view.node = shown.node
        return root, views

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Write the value, and let the program write to its own.

        Where nobody else sees that memory it takes the next value in its place: gradients may need
        the one before.
        """
        self.check_running()
        if not self.owns(target):
            self.take(target)
        after = self.lower(result)
        put(target.value, after)
        root, views = root_and_views(target)
        alone = root is target and not views and self.recorder.shows_none(target.node)
        if alone and isinstance(after, Tensor) and _is_alike(target.value, after):
            target.node = self._call(Tensor.clone, [result], {}, target.value)
        else:
            self.recorder.spare(self.node_of(result), target.node)
            self._call(Tensor.copy_, [target, result], {}, target.value)


def _is_alike(a: Tensor, b: Tensor) -> bool:
    """Whether tensors have one shape, dtype and layout in memory."""
    return a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """`function` of every tensor in nested arguments."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        return {k: _mapped(v, function) for k, v in value.items()}
    if isinstance(value, (tuple, list)) and type(value) is not Size:
        items = [_mapped(v, function) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _leading(op: Any) -> list[str]:
    """The inputs that come first among an op's arguments: they are passed by position."""
    names = list(op.signature.parameters)
    count = next((k for k, n in enumerate(names) if n not in op.inputs), len(names))
    return names[:count]


def _is_default(op: Any, name: str, value: Any) -> bool:
    parameter = op.signature.parameters.get(name)
    if parameter is None or isinstance(value, Tensor):
        return False
    return type(parameter.default) is type(value) and bool(parameter.default == value)


Spelling = tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]


def _spelled_index(input: Any, key: Any) -> Spelling:
    return Tensor.__getitem__, [input, _tensor_key(key)], {}


def _spelled_index_written(input: Any, values: Any, key: Any, accumulate: bool) -> Spelling:
    if accumulate and any(isinstance(k, slice) for k in key):
        raise NotImplementedError("recording index_put(accumulate=True) between slices")
    if accumulate:
        return Tensor.index_put, [input, _tensor_key(key), values, True], {}
    return put_at, [input, _tensor_key(key), values], {}


def _spelled_cast(input: Any, to: Any, source: Any = None) -> Spelling:
    return Tensor.to, [input, of_numpy[to]], {}


def _tensor_key(key: Any) -> tuple[Any, ...]:
    """A key in whose place of arrays tensors stand."""
    return tuple([k if isinstance(k, slice) else wrap(k) for k in key])


def put_at(input: Any, key: tuple[Any, ...], values: Any) -> Any:
    """A copy of `input` with `values` written at a key of slices and tensors."""
    out = input.clone()
    out[key] = values
    return out


# Operations whose parameters hold arrays, as calls of functions that take tensors there.
_SPELLED: dict[Any, Callable[..., Spelling]] = {
    index: _spelled_index,
    index_written: _spelled_index_written,
    _cast: _spelled_cast,
    _discrete: _spelled_cast,
}
# Operations that are recorded as the ordinary ones that their derivatives are made of.
_IN_PARTS = frozenset({"gru_step", "lstm_step"})
