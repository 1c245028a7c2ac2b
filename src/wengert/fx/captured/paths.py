"""What a recorded call does: pieces that a backend has compiled, and steps between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from traceback import FrameSummary
from typing import Any, NamedTuple

from wengert.autograd.transforms.tree import Spec, unflatten_tree
from wengert.core.tensor import Tensor
from wengert.fx.captured.modes import Modes, in_modes, restored
from wengert.fx.captured.settings import counters
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node, map_aggregate
from wengert.replay.failures import BackendCompilerFailed
from wengert.replay.shortcuts import is_same
from wengert.replay.trace import input_of

Backend = Callable[[GraphModule, list[Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Argument:
    """An argument of the call, by its place among the leaves."""

    place: int


@dataclass(frozen=True)
class Value:
    """What a piece or step has given, by its number in the call."""

    number: int


class Held:
    """A tensor that is no argument: of a module, say, or a global. A guard looks at it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.tensor is self.tensor

    def __hash__(self) -> int:
        return id(self.tensor)

    def __repr__(self) -> str:
        return f"Held({id(self.tensor)})"


class Constant:
    """A result that is no tensor of the call."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and is_same(self.value, other.value)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"Constant({id(self.value)})"


Source = Argument | Value | Held | Constant


class Piece:
    """A graph between two places where Python has to know a value; a backend compiles it.

    Attributes:
        graph: its operations.
        inputs: where the values of the placeholders come from.
        count: how many values it gives.
        key: what two pieces have in common that are the same.
    """

    def __init__(self, graph: Graph, inputs: Sequence[Source], count: int) -> None:
        self.graph, self.inputs, self.count = graph, tuple(inputs), count
        self.key = (
            tuple(
                [(n.op, n.target, repr(n.args), repr(n.kwargs), _kind_of(n)) for n in graph.nodes]
            ),
            self.inputs,
        )
        self._compiled: Callable[..., Any] | None = None

    def run(self, values: Sequence[Any], backend: Backend) -> list[Any]:
        """What the compiled piece gives for some values; the first time it is compiled."""
        if self._compiled is None:
            self._compiled = _compiled_by(backend, GraphModule({}, self.graph), [*values])
        with restored():
            found = self._compiled(*values)
        return [found[k] for k in range(self.count)]


def _kind_of(node: Node) -> Any:
    """What inputs of a graph are like, which the steps before it have decided."""
    return node.meta["val"] if node.op == "placeholder" else None


def _compiled_by(backend: Backend, gm: GraphModule, examples: list[Any]) -> Callable[..., Any]:
    calls = sum(node.op.startswith("call") for node in gm.graph.nodes)
    try:
        found = backend(gm, examples)
        if not callable(found):
            raise AssertionError("compiler_fn did not return callable")
    except Exception as error:
        raise BackendCompilerFailed(backend, error).with_traceback(error.__traceback__) from None
    counters["stats"]["unique_graphs"] += 1
    counters["stats"]["calls_captured"] += calls
    return found


class Step(NamedTuple):
    """A call between two pieces, whose result Python depends on.

    Attributes:
        function: is called at each call; None only ends a piece.
        args, kwargs: its arguments, `Source` in the place of tensors.
        modes: those that are on.
        expected: what has come, as far as Python depends on it.
        where: its line of the program.
        apart: whether it may change something, once a call: it is no operation, but Python.
    """

    function: Callable[..., Any] | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    modes: Modes
    expected: Any
    where: FrameSummary
    apart: bool = False

    @property
    def key(self) -> Any:
        """What two steps have in common that are the same."""
        return self.function, repr(self.args), repr(self.kwargs), self.modes, self.expected


def described(result: Any) -> Any:
    """As much of a result as Python can depend on: of tensors everything but the elements."""
    if isinstance(result, Tensor):
        return input_of(result)
    if type(result) in (tuple, list) or hasattr(result, "_fields"):
        return type(result).__name__, tuple(map(described, result))
    return Constant(result)


def tensors_in(result: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, tuple | list):
        return [x for part in result for x in tensors_in(part)]
    if isinstance(result, slice):
        return tensors_in([result.start, result.stop, result.step])
    return []


class Path:
    """A way through a function: what one recorded call has done.

    Attributes:
        items: its pieces and steps, in order.
        outputs: where the results come from, and `spec` their structure.
        form: what arguments have to be like, `guard` what else has to hold.
        proven: whether a second recorded call has done the same.
        code: what ran, and `breaks` the steps between the pieces.
    """

    def __init__(
        self, items: Sequence[Piece | Step], outputs: Sequence[Source], spec: Spec, code: Any
    ) -> None:  # fmt: skip
        self.items, self.outputs, self.spec = tuple(items), tuple(outputs), spec
        self.code, self.breaks = code, [x for x in items if isinstance(x, Step)]
        self.form: Any = None
        self.guard: Any = None
        self.proven = False

    def is_like(self, other: Path) -> bool:
        """Whether another recorded call has done the same."""
        return (
            [item.key for item in self.items] == [item.key for item in other.items]
            and self.outputs == other.outputs
            and self.spec == other.spec
            and self.code == other.code
        )

    def begins_like(self, other: Path, count: int) -> bool:
        """Whether the first items are those of another path, but for what the last has given."""
        mine, others = self.items[:count], other.items[:count]
        return (
            len(mine) == len(others) == count
            and [one.key for one in mine[:-1]] == [one.key for one in others[:-1]]
            and mine[-1].key[:-1] == others[-1].key[:-1]
        )

    def adopt(self, others: Sequence[Path]) -> None:
        """Share the pieces that other paths have compiled."""
        pieces = {
            one.key: one for path in others for one in path.items if isinstance(one, Piece)
        }  # fmt: skip
        self.items = tuple(
            [pieces.get(x.key, x) if isinstance(x, Piece) else x for x in self.items]
        )


class Journey:
    """A call along a path, or along several that begin alike."""

    def __init__(self, leaves: Sequence[Any], backend: Backend) -> None:
        self.leaves, self.backend = leaves, backend
        self.values: list[Any] = []
        self.done: list[Any] = []  # what steps have given that may change something

    def value(self, source: Any) -> Any:
        """What a source stands for; everything else stands for itself."""
        kind = type(source)
        if kind is Value:
            return self.values[source.number]
        if kind is Argument:
            return self.leaves[source.place]
        if kind is Held:
            return source.tensor
        return source.value if kind is Constant else source

    def along(self, paths: Sequence[Path]) -> tuple[Path, Any] | None:
        """The path that the call has taken, and its results; None if it goes another way."""
        path, k = paths[0], 0
        while k < len(path.items):
            item = path.items[k]
            k += 1
            if isinstance(item, Piece):
                self.values += item.run([*map(self.value, item.inputs)], self.backend)
            elif item.function is not None:
                found = self._step(item)
                if found != item.expected:
                    before = path
                    others = [p for p in paths if p.begins_like(before, k)]
                    fitting = [p for p in others if p.items[k - 1].key[-1] == found]
                    if not fitting:
                        return None
                    path = fitting[0]
        return path, unflatten_tree([*map(self.value, path.outputs)], path.spec)

    def _step(self, step: Step) -> Any:
        assert step.function is not None
        args, kwargs = map_aggregate((step.args, step.kwargs), self.value)
        with in_modes(step.modes):
            found = step.function(*args, **kwargs)
        if step.apart:
            self.done.append([found])
        self.values += tensors_in(found)
        return described(found)
