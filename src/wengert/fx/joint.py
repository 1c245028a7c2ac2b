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
from wengert.fx.experimental.recorder import record
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node

Compiler = Callable[[GraphModule, list[Any]], Callable[..., Any]]
Partition = Callable[..., tuple[GraphModule, GraphModule]]


def compiled_with_backward(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Partition | None = None,
) -> Callable[..., Any]:
    """What compilers make of a function of tensors that gives a sequence of them.

    Args:
        function: has a forward, and where its results require grad a backward; each is recorded
            as a graph of the library's operations.
        inputs: an example. Later ones have to be alike, which nobody checks.
        fw_compiler: compiles the forward; `bw_compiler` the backward, by default the same.
        partition_fn: makes the two graphs of one, by default `default_partition`.

    >>> import wengert
    >>> from wengert.fx.joint import compiled_with_backward
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
    outs: list[Tensor] = []
    if is_grad_enabled() and any(wanted):
        outs, wanted = _tried(function, examples, wanted)
    if not any(x.requires_grad for x in outs):
        recording = record(lambda _, given: [*function(*given)], examples, _primals(examples), {})
        module = GraphModule(dict(recording.attributes), recording.graph)
        return _without_graph(_calling(fw_compiler(module, examples)))
    joint = _Joint(function, examples, wanted, outs)
    split = partition_fn or default_partition
    first, second = split(joint.module, joint.inputs, num_fwd_outputs=joint.count)
    forward = _calling(fw_compiler(first, examples))
    nodes = [n for n in second.graph.nodes if n.op == "placeholder"]
    backward = _calling((bw_compiler or fw_compiler)(second, [*map(_zeros, nodes)]))
    return _function_of(joint, forward, backward)


def default_partition(
    joint_module: GraphModule, _joint_inputs: Any, *, num_fwd_outputs: int, **options: Any
) -> tuple[GraphModule, GraphModule]:
    """The graphs of a forward and of its backward, of one that computes both.

    The forward gives its results, and all that the backward reads of what it has computed anyway.
    """
    nodes = [*joint_module.graph.nodes]
    placeholders = [n for n in nodes if n.op == "placeholder"]
    tangents = [n for n in placeholders if n.name.startswith("tangents")]
    primals = [n for n in placeholders if n not in tangents]
    results = [*joint_module.graph.output_node().args[0]]
    outs, gradients = results[:num_fwd_outputs], results[num_fwd_outputs:]
    late = _dependent(nodes, tangents)
    impure = [n for n in nodes if n.op.startswith("call") and n.is_impure() and n not in late]
    early = _needed([*outs, *impure])
    calls = [n for n in nodes if n.op not in ("placeholder", "output")]
    needed = _needed([*gradients, *[n for n in late if n.is_impure() and n.op != "output"]])
    constants = [n for n in calls if n.op == "get_attr" and n in needed]
    second = [n for n in calls if n in needed and n not in early and n not in constants]
    read = {x: None for n in second for x in n.all_input_nodes}
    read |= {x: None for x in gradients if isinstance(x, Node)}
    there = [*primals, *[n for n in calls if n in early and n not in constants]]
    saved = [n for n in there if n in read]
    forward = _graph_of(primals, [n for n in calls if n in early], [*outs, *saved])
    backward = _graph_of([*saved, *tangents], [*constants, *second], gradients)
    return GraphModule(joint_module, forward), GraphModule(joint_module, backward)


def _tried(
    function: Callable[..., Any], inputs: Sequence[Any], wanted: list[bool]
) -> tuple[list[Tensor], list[bool]]:
    """The results for copies of some inputs, and which of these get a gradient."""
    words = default_generator.get_state()
    leaves = [x.detach().clone() if isinstance(x, Tensor) else x for x in inputs]
    leaves = [x.requires_grad_() if w else x for x, w in zip(leaves, wanted, strict=True)]
    try:
        outs = [*function(*[x.clone() if w else x for x, w in zip(leaves, wanted, strict=True)])]
    finally:
        default_generator.set_state(words)
    roots = [x for x in outs if x.requires_grad]
    if not roots:
        return outs, wanted
    some = [x for x, w in zip(leaves, wanted, strict=True) if w]
    seeds = [wengert.ones_like(x) for x in roots]
    grads = iter(wengert.autograd.grad(roots, some, seeds, allow_unused=True))
    return outs, [w and next(grads) is not None for w in wanted]


def _primals(inputs: Sequence[Any]) -> list[str]:
    return [f"primals_{k + 1}" for k in range(len(inputs))]


def _zeros(node: Node) -> Tensor:
    value = node.meta["val"]
    return wengert.zeros(tuple(value.shape), dtype=value.dtype)


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
    """A function and its backward as one graph.

    Attributes:
        module: the graph, of `inputs`: first the function's own, then the cotangents.
        count: how many results the function has; `differentiable` says which require grad.
    """

    def __init__(
        self, function: Callable[..., Any], inputs: list[Any], wanted: list[bool],
        outs: list[Tensor],
    ) -> None:  # fmt: skip
        self.function, self.wanted, self.count = function, wanted, len(outs)
        self.differentiable = [x.requires_grad for x in outs]
        tangents = [wengert.ones_like(x) for x in outs if x.requires_grad]
        names = _primals(inputs) + [f"tangents_{k + 1}" for k in range(len(tangents))]
        self.inputs = [*inputs, *tangents]
        recording = record(self._both, self.inputs, names, {})
        graph = recording.graph
        grads = iter(recording.output[self.count :])
        results = [*recording.output[: self.count]]
        results += [next(grads) if wanted else None for wanted in self.wanted]
        graph.erase_node(graph.output_node())
        graph.output(tuple(results))
        self.module = GraphModule(dict(recording.attributes), graph)

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
            outs = [*found[: joint.count]]
            ctx.save_for_backward(*found[joint.count :])
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
