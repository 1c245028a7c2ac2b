"""A function and its backward as two graphs: what `aot_autograd` has compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import wengert
from wengert.amp import autocast
from wengert.amp.state import state
from wengert.autograd.function import Function, once_differentiable
from wengert.autograd.grad_mode import is_grad_enabled, no_grad
from wengert.core.generators import default_generator
from wengert.core.tensor import Tensor
from wengert.func import vjp
from wengert.fx.experimental.recorder import Recording, record
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node

Compiler = Callable[[GraphModule, list[Any]], Callable[..., Any]]


def compiled_with_backward(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
) -> Callable[..., Any]:
    """What compilers make of a function of tensors that gives a sequence of them.

    Args:
        function: has a forward, and where its results require grad a backward; each is recorded
            as a graph of the library's operations.
        inputs: an example. Later ones have to be alike, which nobody checks.
        fw_compiler: compiles the forward; `bw_compiler` the backward, by default the same.

    >>> import wengert
    >>> def shown(graph, inputs):
    ...     print([node.name for node in graph.graph.nodes])
    ...     return graph.forward
    >>> x = wengert.ones(2, requires_grad=True)
    >>> (y,) = compiled_with_backward(lambda x: (x.sin(),), [x], shown)(x)
    ['primals_1', 'sin', 'output']
    ['primals_1', 'tangents_1', 'cos', 'mul', 'output']
    """
    examples = [*inputs]
    wanted = [isinstance(x, Tensor) and x.requires_grad for x in inputs]
    outs = _example_outputs(function, examples) if is_grad_enabled() and any(wanted) else []
    if not any(x.requires_grad for x in outs):
        recording = record(lambda _, given: [*function(*given)], examples, _primals(examples), {})
        return _without_graph(
            _calling(_compiled(fw_compiler, recording.graph, recording, examples))
        )
    joint = _Joint(function, examples, wanted, outs)
    forward = _calling(_compiled(fw_compiler, joint.forward, joint.recording, examples))
    values = [_zeros(k) if isinstance(k, Node) else examples[k] for k in joint.saved]
    values += map(_zeros, joint.tangents)
    backward = _compiled(bw_compiler or fw_compiler, joint.backward, joint.recording, values)
    return _function_of(joint, forward, _calling(backward))


def _example_outputs(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    """The results for copies of some inputs."""
    words = default_generator.get_state()
    try:
        return [*function(*map(_copied, inputs))]
    finally:
        default_generator.set_state(words)


def _copied(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return x
    return x.detach().clone().requires_grad_(x.requires_grad).clone()


def _primals(inputs: Sequence[Any]) -> list[str]:
    return [f"primals_{k + 1}" for k in range(len(inputs))]


def _zeros(node: Node) -> Tensor:
    value = node.meta["val"]
    return wengert.zeros(tuple(value.shape), dtype=value.dtype)


def _compiled(compiler: Compiler, graph: Graph, recording: Recording, examples: list[Any]) -> Any:
    return compiler(GraphModule(dict(recording.attributes), graph), examples)


def _calling(function: Any) -> Callable[..., Any]:
    """A compiled graph, called with arguments one by one: autocast has taken part in it before."""
    boxed = getattr(function, "_boxed_call", False)

    def call(*args: Any) -> Any:
        if not state.enabled.get("cpu"):
            return function([*args]) if boxed else function(*args)
        with autocast("cpu", enabled=False):
            return function([*args]) if boxed else function(*args)

    return call


class _Joint:
    """A function and its backward as one recording, and as two graphs.

    Attributes:
        saved: what the forward gives to the backward: nodes, and the places of inputs.
        count: how many results the function has.
    """

    def __init__(
        self, function: Callable[..., Any], inputs: list[Any], wanted: list[bool],
        outs: list[Tensor],
    ) -> None:  # fmt: skip
        self.function, self.wanted, self.count = function, wanted, len(outs)
        self.differentiable = [x.requires_grad for x in outs]
        tangents = [wengert.ones_like(x) for x in outs if x.requires_grad]
        names = _primals(inputs) + [f"tangents_{k + 1}" for k in range(len(tangents))]
        self.recording = record(self._both, [*inputs, *tangents], names, {})
        nodes = [*self.recording.graph.nodes]
        placeholders = [n for n in nodes if n.op == "placeholder"]
        self.primals, self.tangents = placeholders[: len(inputs)], placeholders[len(inputs) :]
        self._split(nodes)

    def _both(self, state: Any, given: list[Any]) -> list[Any]:
        """The results, and the gradients of the inputs that want them."""
        inputs, tangents = given[: len(self.wanted)], given[len(self.wanted) :]
        others: list[Any] = []

        def differentiated(*primals: Any) -> list[Any]:
            some = iter(primals)
            both = zip(inputs, self.wanted, strict=True)
            outs = self.function(*[next(some) if wanted else x for x, wanted in both])
            marked = [*zip(outs, self.differentiable, strict=True)]
            others.extend([x.detach() for x, differentiable in marked if not differentiable])
            return [x for x, differentiable in marked if differentiable]

        primals = [x for x, wanted in zip(inputs, self.wanted, strict=True) if wanted]
        results, pull = vjp(differentiated, *primals)
        mine, theirs = iter(results), iter(others)
        outs = [next(mine if d else theirs) for d in self.differentiable]
        return [*outs, *pull(tangents)]

    def _split(self, nodes: list[Node]) -> None:
        results = [*self.recording.output]
        outs, grads = results[: self.count], iter(results[self.count :])
        late = _dependent(nodes, self.tangents)
        impure = [n for n in nodes if n.op.startswith("call") and n.is_impure() and n not in late]
        early = _needed([*outs, *impure])
        calls = [n for n in nodes if n.op not in ("placeholder", "output")]
        first = [n for n in calls if n in early]
        gradients = [next(grads) if w else None for w in self.wanted]
        needed = _needed([*gradients, *[n for n in late if n.is_impure() and n.op != "output"]])
        second = [n for n in calls if n in needed and n not in early]
        constants = [n for n in first if n.op == "get_attr" and n in needed]
        read = {x: None for n in second for x in n.all_input_nodes}
        read |= {x: None for x in gradients if isinstance(x, Node)}
        given = [n for n in read if n in self.primals or (n in early and n not in constants)]
        order = {n: k for k, n in enumerate(nodes)}
        given.sort(key=order.__getitem__)
        self.saved = [self.primals.index(n) if n in self.primals else n for n in given]
        values = [n for n in given if n not in self.primals]
        self.forward = _graph_of(self.primals, first, [*outs, *values])
        self.backward = _graph_of([*given, *self.tangents], [*constants, *second], gradients)


def _dependent(nodes: list[Node], roots: list[Node]) -> dict[Node, None]:
    """The nodes that depend on some, in order."""
    found = dict.fromkeys(roots)
    for node in nodes:
        if any(x in found for x in node.all_input_nodes):
            found[node] = None
    return found


def _needed(results: Sequence[Any]) -> set[Node]:
    """The nodes that results are computed from."""
    found: set[Node] = set()
    waiting = [x for x in results if isinstance(x, Node)]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def _graph_of(inputs: Sequence[Node], calls: Sequence[Node], results: Sequence[Any]) -> Graph:
    graph, made = Graph(), dict[Node, Node]()
    for node in inputs:
        made[node] = graph.placeholder(node.name)
        made[node].meta = dict(node.meta)
    for node in calls:
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple([made[x] if isinstance(x, Node) else x for x in results]))
    return graph


def _function_of(
    joint: _Joint, forward: Callable[..., Any], backward: Callable[..., Any]
) -> Callable[..., Any]:
    """The two graphs as one operation."""

    class Compiled(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            found = forward(*map(_detached, args))
            outs, values = [*found[: joint.count]], iter(found[joint.count :])
            saved = [next(values) if isinstance(k, Node) else args[k] for k in joint.saved]
            ctx.save_for_backward(*saved)
            plain = [x for x, d in zip(outs, joint.differentiable, strict=True) if not d]
            ctx.mark_non_differentiable(*plain)
            return tuple(outs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            tangents = [g for g, d in zip(grads, joint.differentiable, strict=True) if d]
            return tuple(backward(*ctx.saved_tensors, *tangents))

    def call(*args: Any) -> Any:
        if is_grad_enabled():
            return Compiled.apply(*args)
        return forward(*map(_detached, args))[: joint.count]

    return call


def _without_graph(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A graph of whose results none requires grad."""

    def call(*args: Any) -> Any:
        with no_grad():
            return forward(*map(_detached, args))

    return call


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x
