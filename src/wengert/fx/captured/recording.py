"""Recording the calls of operations that a function makes, as its program spells them."""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable, Sequence
from threading import get_ident, local
from traceback import FrameSummary
from types import FrameType
from typing import Any

import numpy as np

from wengert.core import storage
from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.layout import layout, memory_format
from wengert.core.preparations import watchers
from wengert.core.storage import clock, line_of, owner, quoted_location
from wengert.core.tensor import Tensor, internal, tensors
from wengert.fx.captured.modes import (
    Modes,
    _enter_autocast,
    _exit_autocast,
    _set_grad_enabled,
    modes_of_thread,
)
from wengert.fx.captured.paths import (
    Argument,
    Constant,
    Held,
    Piece,
    Source,
    Step,
    Value,
    described,
    tensors_in,
)
from wengert.fx.captured.spelling import callers_frame, property_of, spelled
from wengert.fx.captured.watching import Watcher
from wengert.fx.experimental.recorder import described_line, described_value, record
from wengert.fx.graph import Graph
from wengert.fx.node import Node, has_side_effect, map_aggregate
from wengert.overrides import TorchFunctionMode
from wengert.replay.guards import UnguardedError
from wengert.replay.observing import METADATA
from wengert.replay.state import unusual

# What gives Python a value, and changes nothing.
_READS = frozenset({
    "item", "tolist", "equal", "allclose", "is_nonzero", "__bool__", "__int__", "__float__",
    "__complex__", "__index__", "__contains__", "__repr__", "__str__", "__format__",
})  # fmt: skip
# What says nothing about elements, whatever it gives.
_ASKED = frozenset({
    *METADATA, "is_tensor", "is_storage", "get_device", "is_signed", "finfo", "iinfo",
    "promote_types", "result_type", "can_cast", "broadcast_shapes", "get_default_dtype",
    "is_grad_enabled",
})  # fmt: skip
# What never looks at elements, though a recording of numbers alone cannot hold it.
_BLIND = frozenset({"__setitem__", "detach", "detach_"})
_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), dtype, type(...), device, layout,
    memory_format,
)  # fmt: skip


for _function in (_set_grad_enabled, _enter_autocast, _exit_autocast):
    has_side_effect(_function)
for _writes in (
    operator.setitem, operator.iadd, operator.isub, operator.imul, operator.itruediv,
    operator.ifloordiv, operator.imod, operator.ipow, operator.imatmul, operator.iand,
    operator.ior, operator.ixor,
):  # fmt: skip
    has_side_effect(_writes)


class _Thread(local):
    recorder: CallRecorder | None = None


thread = _Thread()


class _Known:
    """A tensor of the call: where it came from, and its place in autograd's graph."""

    __slots__ = ("edge", "first", "ref", "source")

    def __init__(self, tensor: Tensor, source: Source | None) -> None:
        self.ref, self.source = weakref.ref(tensor), source
        self.edge = self.first = tensor._edge


class CallRecorder(TorchFunctionMode):
    """Records the calls that a function makes on its thread while it runs.

    Attributes:
        items: the pieces and steps so far.
        whole: whether a step is an error.
        watcher: sees the Python of the call.
        held: the tensors that are no arguments.
        done: the results, one in a list, of functions beside graphs that have run in this call.
    """

    def __init__(
        self, leaves: Sequence[Any], names: dict[int, str], whole: bool, done: Sequence[Any] = ()
    ) -> None:
        super().__init__()
        self.done = [*done]
        self.items: list[Piece | Step] = []
        self.whole, self.watcher, self.held = whole, Watcher(), list[Any]()
        self._names, self._thread, self._computing = names, get_ident(), False
        self._apart = False  # a function runs that graphs leave to Python
        self._known: dict[int, _Known] = {}
        self._results: list[Any] = []  # of the call that is being recorded
        self._count, self._newest = 0, clock.newest
        # Memory that was written to, and what it held before and after.
        self._saved, self._written = list[Any](), list[Any]()
        self._unusual = unusual()
        self._modes = self._mode = modes_of_thread()
        for k, x in enumerate(leaves):
            if isinstance(x, Tensor) and id(x) not in self._known:
                self._known[id(x)] = _Known(x, Argument(k))
        self._begin()

    def _begin(self) -> None:
        self._graph, self._inputs = Graph(), list[Source]()
        self._nodes: dict[int, Node] = {}
        self._mode = self._modes
        self._region: Node | None = None  # of autocast that the graph has begun

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a function gives whose calls are recorded."""
        storage.guards.append(self._before_write)
        watchers[get_ident()] = self._beside
        thread.recorder = self
        try:
            with self:
                return self.watcher.watch(function, *args, **kwargs)
        finally:
            thread.recorder = None
            del watchers[get_ident()]
            storage.guards.remove(self._before_write)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        sys.setprofile(None)
        kwargs = kwargs or {}
        try:
            if self.watcher.reason or self._apart:
                return func(*args, **kwargs)
            self._results.clear()
            try:
                return self._called(func, args, kwargs, callers_frame(sys._getframe(1)))
            except UnguardedError as why:
                self._refuse(str(why), callers_frame(sys._getframe(1)))
                return self._results[0] if self._results else func(*args, **kwargs)
        finally:
            if not self._apart:
                self.watcher.count += 1
                self.watcher.resume()

    def _refuse(self, what: str, frame: FrameType) -> None:
        frame = _users_frame(frame)
        self.watcher.refuse(f"{what}, at {quoted_location(frame.f_code, frame.f_lasti)}")

    def _called(self, func: Any, args: Any, kwargs: Any, frame: FrameType) -> Any:
        """The result of a call, which is written down."""
        self._check_surroundings()
        attribute, name = property_of(func), getattr(func, "__name__", "call")
        if attribute is not None:
            name, how = attribute
            if how != "__get__" or name in ("grad", "grad_fn"):
                raise UnguardedError(f"it uses Tensor.{name}")
            if name in _ASKED:
                return func(*args)
            return self._noted("call_function", getattr, (args[0], name), {}, frame, func, args)
        if name == "__iter__":
            return iter([self._item(args[0], k, row, frame) for k, row in enumerate(func(*args))])
        if name == "_assert" and not tensors_in(args):
            return func(*args, **kwargs)
        if name in _READS:
            return self._step(func, args, kwargs, frame)
        if name in _ASKED:
            found = func(*args, **kwargs)
            if not tensors_in(found):
                return found
        elif name not in _BLIND and self._looks(func, args, kwargs):
            return self._step(func, args, kwargs, frame)
        kind, target, given = spelled(func, args, frame)
        return self._noted(kind, target, given, kwargs, frame, func, args)

    def _looks(self, func: Any, args: Any, kwargs: Any) -> bool:
        """Whether a function looks at elements, for more than to compute with them."""
        saved, self._computing = len(self._saved), True
        try:
            return _depends_on_elements(func, args, kwargs)
        finally:
            del self._saved[saved:]
            self._computing, self._newest = False, clock.newest

    def _item(self, x: Tensor, k: int, row: Tensor, frame: FrameType) -> Tensor:
        """A row of a tensor that is iterated over."""
        node = self._node("call_function", operator.getitem, (self._of(x), k), {}, row, frame)
        self._bind(row, node)
        return row

    def _noted(
        self, kind: str, target: Any, given: Any, kwargs: Any, frame: FrameType, func: Any,
        args: Any,
    ) -> Any:  # fmt: skip
        nodes, saved = self._arguments(given, kwargs, frame), len(self._saved)
        result = self._computed(func, args, kwargs if target is not getattr else {})
        writes = result is None and len(self._saved) > saved
        if not tensors_in(result) and not writes:
            raise UnguardedError(f"{_named(func)}() gives a {type(result).__name__}")
        node = self._node(kind, target, nodes[0], nodes[1], result, frame)
        known = self._found(result)
        if known is None or len(self._saved) > saved or known.edge is not result._edge:
            self._bind_all(result, node, frame)  # else it is an argument as it was
        return result

    def _computed(self, func: Any, args: Any, kwargs: Any) -> Any:
        self._computing, saved, before = True, len(self._saved), clock.newest
        try:
            result = func(*args, **kwargs)
            self._results.append(result)
        finally:
            self._computing = False
        if clock.newest != before and len(self._saved) == saved:
            self.watcher.refuse(f"{_named(func)}() writes to memory")
        if len(self._saved) != saved:
            for known in self._known.values():
                if (x := known.ref()) is not None:
                    known.edge = x._edge
        self._newest = clock.newest
        return result

    def _check_surroundings(self) -> None:
        if clock.newest != self._newest:
            raise UnguardedError("it writes to memory")
        if unusual() != self._unusual:
            raise UnguardedError("it changes a setting of the thread")

    def _before_write(self, array: np.ndarray) -> None:
        """Keep what memory holds that is going to be written to."""
        if get_ident() != self._thread:
            return
        if not self._computing:
            self.watcher.refuse("it writes to memory")
        if not self._saved or self._saved[-1][0] is not array:
            self._check_edges()
        self._saved.append((array, array.copy()))

    def _check_edges(self) -> None:
        for known in self._known.values():
            if (x := known.ref()) is not None and x._edge is not known.edge:
                self.watcher.refuse("it changes the graph of a tensor")

    def _beside(self, function: Callable[..., Any], args: tuple[Any, ...], changes: bool) -> Any:
        """What a function gives that is no operation: counters of batches are recorded."""
        if not changes or self._computing or self.watcher.reason:
            return function(*args)
        module = sys._getframe(2).f_locals.get("self")
        if function.__name__ != "_count_batch" or getattr(module, "momentum", None) is None:
            self.watcher.refuse(f"{function.__name__}() changes something")
            return function(*args)
        args[0].add_(1)
        return 0.0

    def _arguments(self, args: Any, kwargs: Any, frame: FrameType) -> Any:
        """The arguments of a node."""
        given = tensors_in([*args, *kwargs.values()])
        if frame.f_code.co_filename in internal:  # a module has its parameters at hand
            given.sort(key=lambda x: id(x) in self._known)
        for x in given:
            self._of(x)
        return map_aggregate((tuple(args), kwargs), self._argument)

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return self._of(x)
        if isinstance(x, np.generic):
            return x.item()
        if not isinstance(x, _PLAIN):
            raise UnguardedError(f"an operation has an argument of type {type(x).__name__}")
        return x

    def _given(self, x: Any) -> Any:
        """An argument of a step: of a function that is no operation, whatever it is."""
        return Constant(x) if self._apart and not isinstance(x, _PLAIN) else self._argument(x)

    def _found(self, x: Any) -> _Known | None:
        known = self._known.get(id(x))
        return known if known is not None and known.ref() is x else None

    def _source(self, x: Tensor) -> _Known:
        known = self._found(x)
        if known is None:
            if type(x) not in tensors or type(x._array) is not np.ndarray:
                raise UnguardedError(f"a tensor of type {type(x).__name__}")
            self.held.append(x)
            known = self._known[id(x)] = _Known(x, Held(x))
        if x._edge is not known.edge:
            raise UnguardedError("it changes the graph of a tensor")
        return known

    def _of(self, x: Tensor) -> Node:
        """The node of a tensor in the piece that is being recorded."""
        known = self._source(x)
        node = self._nodes.get(id(x))
        if node is None:
            assert known.source is not None
            name = self._names.get(id(x), f"L_tensor_{len(self._inputs)}_")
            node = self._graph.create_node("placeholder", name, name=name.lower())
            first = next((n for n in self._graph.nodes if n.op != "placeholder"), node)
            if first is not node:
                first.prepend(node)
            node.meta["val"] = node.meta["example_value"] = described_value(x)
            self._nodes[id(x)] = node
            self._inputs.append(known.source)
        return node

    def _node(
        self, kind: str, target: Any, args: Any, kwargs: Any, result: Any, frame: FrameType
    ) -> Node:  # fmt: skip
        self._change_modes(modes_of_thread())
        node = self._graph.create_node(kind, target, args, kwargs)
        node.meta["val"] = node.meta["example_value"] = described_value(result)
        frame = _users_frame(frame)
        node.stack_trace = described_line(frame.f_code, frame.f_lasti)
        return node

    def _change_modes(self, modes: Modes) -> None:
        """Let the graph change the modes of its thread, if they are others."""
        graph = self._graph
        if modes.grad != self._mode.grad:
            graph.call_function(_set_grad_enabled, (modes.grad,))
        if modes.autocast != self._mode.autocast:
            if self._region is not None:
                graph.call_function(_exit_autocast, (self._region,))
                self._region = None
            if modes.autocast != self._modes.autocast:
                self._region = graph.call_function(_enter_autocast, ("cpu", *modes.autocast))
        self._mode = modes

    def _bind(self, x: Tensor, node: Node) -> None:
        """Let a node stand for a tensor from here on."""
        known = self._found(x)
        if known is None:
            if type(x) not in tensors or type(x._array) is not np.ndarray:
                raise UnguardedError(f"a tensor of type {type(x).__name__}")
            self._known[id(x)] = _Known(x, None)
        else:
            known.edge = x._edge
        self._nodes[id(x)] = node

    def _bind_all(self, result: Any, node: Node, frame: FrameType) -> None:
        if isinstance(result, Tensor):
            self._bind(result, node)
        elif isinstance(result, tuple | list):
            for k, part in enumerate(result):
                if tensors_in(part):
                    item = self._node("call_function", operator.getitem, (node, k), {}, part, frame)
                    self._bind_all(part, item, frame)

    def _step(self, func: Any, args: Any, kwargs: Any, frame: FrameType) -> Any:
        """A call whose result Python depends on."""
        given = tensors_in([*args, *kwargs.values()])
        sources = {id(x): self._source(x) for x in given}
        if self.whole:
            raise UnguardedError(f"{_named(func)}() gives Python a value")
        if self._has_written():
            raise UnguardedError("it reads a value after it has written to memory")
        self._end_piece(None)
        args_of, kwargs_of = map_aggregate(
            (tuple(args), kwargs),
            lambda x: sources[id(x)].source if isinstance(x, Tensor) else self._given(x),
        )
        before = self.done.pop(0) if self._apart and self.done else None
        call = func if before is None else lambda *args, **kwargs: before[0]
        result = self._computed(call, args, kwargs)
        if result is None and not self._apart:
            raise UnguardedError(f"{_named(func)}() changes something")
        what = func, args_of, kwargs_of, modes_of_thread(), described(result)
        self.items.append(Step(*what, _line_of(frame)))
        for x in tensors_in(result):
            self._number(x)
            self._known[id(x)].edge = x._edge
        return result

    def beside_graphs(self, function: Any, args: Any, kwargs: Any, frame: FrameType) -> Any:
        """What a function gives that runs between two graphs at every call, as it is."""
        if self.watcher.reason or self._apart:
            return function(*args, **kwargs)
        sys.setprofile(None)
        self.watcher.count += 1
        self._apart = True
        self._results.clear()
        try:
            if self.whole:
                raise UnguardedError(f"{_named(function)}() is disabled")
            self._check_surroundings()
            result = self._step(function, args, kwargs, frame)
            self.items[-1] = self.items[-1]._replace(apart=True)  # type: ignore[union-attr]
            return result
        except UnguardedError as why:
            self._refuse(str(why), frame)
            return self._results[0] if self._results else function(*args, **kwargs)
        finally:
            self._apart = False
            self.watcher.resume()

    def break_graph(self, frame: FrameType) -> None:
        """End the piece."""
        sys.setprofile(None)
        self.watcher.count += 1
        if self.whole:
            self._refuse("torch._dynamo.graph_break() is called", frame)
        elif not self.watcher.reason:
            self._end_piece(None)
            self.items.append(Step(None, (), {}, self._modes, None, _line_of(frame)))
        self.watcher.resume()

    def _has_written(self) -> bool:
        """Whether memory was written to that was there before the call."""
        own = {
            id(owner(x._array))
            for k in self._known.values()
            if (x := k.ref()) is not None and not isinstance(k.source, Value | None)
        }
        return any(id(owner(array)) in own for array, _ in self._saved)

    def _number(self, x: Tensor) -> None:
        known = self._found(x)
        if known is None:
            known = self._known[id(x)] = _Known(x, None)
        if known.source is None:
            known.source = Value(self._count)
        self._count += 1

    def _end_piece(self, results: Sequence[Tensor] | None) -> None:
        """Close the graph, whose values are some tensors: by default all that are left."""
        graph = self._graph
        if results is None:
            found = [(k.ref(), k) for k in self._known.values()]
            results = [x for x, k in found if x is not None and k.source is None]
            places = {node: k for k, node in enumerate(graph.nodes)}
            results.sort(key=lambda x: places[self._nodes[id(x)]])
        else:
            results = [x for x in results if self._source(x).source is None]
        outputs = [self._nodes[id(x)] for x in results]
        for x in results:
            self._number(x)
        self._change_modes(self._modes)
        for node in reversed([*graph.nodes]):
            idle = not node.users and node not in outputs
            if idle and (node.op == "placeholder" or node.target is operator.getitem):
                if node.op == "placeholder":
                    del self._inputs[[n for n in graph.nodes if n.op == "placeholder"].index(node)]
                graph.erase_node(node)
        if any(node.op != "placeholder" for node in graph.nodes):
            graph.output(tuple(outputs))
            self.items.append(Piece(graph, self._inputs, len(outputs)))
        self._begin()

    def end(self, results: Sequence[Any]) -> list[Source | None]:
        """Where results come from: None for what is no tensor."""
        self._check_surroundings()
        given = list({id(x): x for x in results if isinstance(x, Tensor)}.values())
        self._end_piece(given)
        for known in self._known.values():
            x, there = known.ref(), isinstance(known.source, Argument | Held)
            if there and x is not None and x._edge is not known.first:
                raise UnguardedError("it changes what a tensor is that was there before")
        return [self._source(x).source if isinstance(x, Tensor) else None for x in results]

    def undo(self) -> None:
        """Give memory the elements that it had before the call."""
        self._written = [(array, array.copy()) for array, _ in self._saved]
        for array, before in reversed(self._saved):
            array[...] = before

    def redo(self) -> None:
        """Give memory the elements again that it had after the call."""
        for array, after in self._written:
            array[...] = after


def _users_frame(frame: FrameType) -> FrameType:
    """The first frame from one outwards that is not of the library."""
    while frame.f_code.co_filename in internal and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _line_of(frame: FrameType) -> FrameSummary:
    frame = _users_frame(frame)
    code = frame.f_code
    return FrameSummary(code.co_filename, line_of(code, frame.f_lasti), code.co_qualname)


def _named(func: Any) -> str:
    return str(getattr(func, "__name__", "a function"))


def _depends_on_elements(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether a function looks at elements, for more than to compute with them."""
    kwargs = {name: x for name, x in kwargs.items() if name != "out"}
    given = tensors_in([*args, *kwargs.values()])
    if not given:
        return False
    places = {id(x): k for k, x in enumerate(given)}

    def call(state: Any, inputs: list[Any]) -> Any:
        own_args, own_kwargs = map_aggregate(
            (tuple(args), kwargs),
            lambda x: inputs[places[id(x)]] if isinstance(x, Tensor) else x,
        )
        return func(*own_args, **own_kwargs)

    try:
        record(call, given, [f"x{k}" for k in range(len(given))], {})
    except Exception:
        return True
    return False


__all__ = ["CallRecorder", "thread"]
