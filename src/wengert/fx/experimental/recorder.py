"""GraphRecorder: an fx graph of what a function computes, written down while it runs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import wengert
from wengert.autograd.transforms.recorded import RecordLevel
from wengert.autograd.transforms.tree import map_leaves
from wengert.core.dtypes import dtype
from wengert.core.generators import default_generator
from wengert.core.size import Size
from wengert.core.storage import line_of, source_text
from wengert.core.tensor import (
    Site,
    Tensor,
    caller,
    getframe,
    memory_of,
    mode,
    shape_of,
    wrap,
)
from wengert.fx.graph import Graph
from wengert.fx.node import Node, has_side_effect, map_aggregate
from wengert.ops.op import REGISTRY

Path = str
# Calls of modules, the outermost first: their names where they were called, and numbers.
Calls = tuple[tuple[str, int], ...]
for _writer in ("_batch_norm", "_instance_norm", "_moved"):  # of running statistics
    has_side_effect(REGISTRY[_writer].function)
has_side_effect(Tensor.copy_)


class ValueInfo(NamedTuple):
    """What a node's ``meta["val"]`` says of its result: no elements."""

    shape: Size
    dtype: dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


def described_value(value: Any) -> Any:
    """`ValueInfo` of a tensor; the same of each in nested results."""
    if isinstance(value, Tensor):
        return ValueInfo(Size(shape_of(value)), value.dtype)
    if isinstance(value, tuple | list):
        return [described_value(x) for x in value]
    return value


class BoundCall:
    """A function with the arguments that no program text can spell: it is the target of a node."""

    def __init__(self, function: Callable[..., Any], bound: dict[str, Any]) -> None:
        self.function, self.bound = function, bound
        self.__name__ = self.__qualname__ = getattr(function, "__name__", "call")
        self.__module__ = getattr(function, "__module__", __name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs, **self.bound)


class RandomDraw:
    """Random numbers of a shape: what a program draws when it runs."""

    __name__ = __qualname__ = "draw_numbers"

    def __init__(self, draw: Callable[[tuple[int, ...]], Any]) -> None:
        self.draw = draw

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        return wrap(self.draw(tuple(shape)))


_PLAIN = (bool, int, float, complex, str, type(None), dtype, Node, type(Ellipsis))


def _is_plain(value: Any) -> bool:
    """Whether a program's text can spell an argument."""
    if isinstance(value, slice):
        return all(map(_is_plain, (value.start, value.stop, value.step)))
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, _PLAIN) and not isinstance(value, np.generic)


def _as_python(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


class GraphRecorder:
    """Writes a graph down for a `RecordLevel`.

    Attributes:
        graph: the graph.
        attributes: the constants by the names under which the graph reads them.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.attributes: dict[Path, Tensor] = {}
        self._shown: set[Node] = set()
        self._constants: dict[int, tuple[Tensor, Node]] = {}
        self._originals: list[Tensor] = []  # keeps their ids from being used again
        self._calls: dict[Site, Calls] = {}
        self._foreign: set[Site] = set()  # of modules that their callers do not have

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> Node:
        """The node of a call."""
        args, kwargs = map_aggregate((tuple(args), kwargs), _as_python)
        bound = {k: v for k, v in kwargs.items() if not _is_plain(v)}
        if bound:
            function = BoundCall(function, bound)
            kwargs = {k: v for k, v in kwargs.items() if k not in bound}
        if not _is_plain(args):
            raise NotImplementedError(
                f"recording {getattr(function, '__name__', function)}: an argument is neither a"
                f" tensor nor a number, text or dtype: {args}"
            )
        name = _node_name(function)
        return self._noted(
            self.graph.create_node("call_function", function, args, kwargs, name), result
        )

    def item(self, node: Node, index: int, value: Any) -> Node:
        """The node of one of several results."""
        return self._noted(self.graph.call_function(operator.getitem, (node, index)), value)

    def viewed(self, node: Node, source: Node) -> None:
        """Note that a node shows the memory of another."""
        node.meta["view_of"] = source
        self._shown.add(source)

    def shows_none(self, node: Node) -> bool:
        """Whether what a node computes has memory of its own, which no other node shows."""
        own = node.op == "call_function" and "view_of" not in node.meta
        return own and node not in self._shown

    def spare(self, node: Any, source: Node) -> None:
        """Let a call read a copy of a value that is about to be written over, if gradients do."""
        if isinstance(node, Node) and source in _saved_by(node):
            with self.graph.inserting_before(node):
                copy = self.graph.call_function(Tensor.clone, (source,))
            copy.meta.update(node.meta, val=source.meta["val"])
            copy.stack_trace = node.stack_trace
            node.replace_input_with(source, copy)

    def draw(self, draw: Callable[..., Any], shape: tuple[int, ...], result: Any) -> Node:
        """The node of random numbers."""
        return self.call(RandomDraw(draw), [tuple(shape)], {}, result)

    def constant(self, value: Tensor) -> Node:
        """The node of a constant, with the elements that it has now."""
        known = self._constants.get(id(value))
        if known is not None and _same_elements(known[0], value):
            return known[1]
        kept = value.detach().clone()
        kind = "param" if isinstance(value, wengert.nn.Parameter) else "tensor"
        path = f"_{kind}_constant{sum(p.startswith(f'_{kind}') for p in self.attributes)}"
        node = self.attribute(path, kept)
        self._constants[id(value)] = kept, node
        self._originals.append(value)
        return node

    def attribute(self, path: Path, value: Tensor) -> Node:
        """The node that reads an attribute, which stands in front of all calls."""
        self.attributes[path] = value
        first = next((n for n in self.graph.nodes if n.op not in ("placeholder", "get_attr")), None)
        if first is None:
            return self._noted(self.graph.get_attr(path), value)
        with self.graph.inserting_before(first):
            node = self.graph.get_attr(path)
        return self._noted(node, value)

    def _noted(self, node: Node, result: Any) -> Node:
        node.meta["val"] = described_value(result)
        node.meta["where"] = mode.where.path()
        node.meta["calls"] = self._calls_around(mode.where)
        code, lasti = caller(getframe(1))
        node.stack_trace = described_line(code, lasti)
        return node

    def _calls_around(self, site: Site) -> Calls:
        """The calls inside the outermost module that led to a site.

        What a module calls that it does not have as a submodule counts as a part of it.
        """
        if site.parent is None or site.module is None or site.parent.module is None:
            return ()
        if site not in self._calls:
            around, caller, called = site.parent, site.parent.module(), site.module()
            calls = self._calls_around(around)
            known = () if caller is None or around in self._foreign else caller.named_modules()
            name = next((name for name, child in known if child is called), None)
            if name is None:
                self._foreign.add(site)
            else:
                calls = (*calls, (name, len(self._calls)))
            self._calls[site] = calls
        return self._calls[site]


def _same_elements(a: Tensor, b: Tensor) -> bool:
    x, y = memory_of(a), memory_of(b)
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()


def _saved_by(node: Node) -> list[Any]:
    """The operands of a call that its derivatives read."""
    op = next((op for op in REGISTRY.values() if op.function is node.target), None)
    if op is None:
        return []
    operands = dict(zip(op.signature.parameters, node.args, strict=False)) | node.kwargs
    wants = [names for i, names in op.wants.items() if isinstance(operands.get(i), Node)]
    read = {name for names in wants for name in names}
    return [x for name, x in operands.items() if name in read]


def _node_name(function: Any) -> str:
    name = getattr(function, "__name__", "call").strip("_")
    return {"getitem": "index"}.get(name, name)


def described_line(code: CodeType, lasti: int) -> str:
    """A line of code as a traceback names it."""
    line, text = line_of(code, lasti), source_text(code, lasti)
    return f'  File "{code.co_filename}", line {line}, in {code.co_name}\n    {text}'


class Recording(NamedTuple):
    """What a run left: its graph, the constants of the graph, and the structure of the result."""

    graph: Graph
    attributes: dict[Path, Tensor]
    output: Any


def record(
    function: Callable[[dict[Path, Any], list[Any]], Any],
    inputs: list[Any],
    names: list[str],
    state: dict[Path, Tensor],
    kind: type[RecordLevel] = RecordLevel,
) -> Recording:
    """Call ``function(state, inputs)`` with tracers and write down what it does.

    Args:
        function: is called once.
        inputs: tensors become inputs of the graph; other values are passed on, as constants.
        names: of the inputs.
        state: tensors that the graph reads as attributes, by path.
        kind: of the level that the function runs in.

    The random numbers that are drawn on the way are not missing afterwards, and what is written
    to inputs and state is written to copies.
    """
    recorder = GraphRecorder()
    random_state = default_generator.get_state()
    try:
        with wengert.set_grad_enabled(kind.grad), kind(recorder) as level:
            tracers = [_input(level, recorder, n, x) for n, x in zip(names, inputs, strict=True)]
            attributes = {
                path: level.recorded(_copied(x), recorder.attribute(path, x))
                for path, x in state.items()
            }
            result = function(attributes, tracers)
            output = map_leaves(level.node_of, result)
    finally:
        default_generator.set_state(random_state)
    recorder.graph.output(output)
    for node in reversed(list(recorder.graph.nodes)):
        if node.op == "get_attr" and not node.users:
            recorder.graph.erase_node(node)
            if str(node.target) not in state:
                del recorder.attributes[str(node.target)]
    return Recording(recorder.graph, recorder.attributes, output)


def _copied(value: Tensor) -> Tensor:
    return value.detach().clone()


def _input(level: RecordLevel, recorder: GraphRecorder, name: str, value: Any) -> Any:
    node = recorder.graph.placeholder(name)
    if not isinstance(value, Tensor):
        return value
    node.meta["val"] = described_value(value)
    return level.recorded(_copied(value), node)


__all__ = ["BoundCall", "GraphRecorder", "RandomDraw", "Recording", "ValueInfo", "record"]
