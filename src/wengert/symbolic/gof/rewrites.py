"""Rewrites of graphs, as programs describe and register them.

What is registered runs when functions are compiled, after the library's own rules (`programs/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.gof.toolbox import ReplaceValidate
from wengert.symbolic.graph import Apply, Constant, replaced
from wengert.symbolic.graph import inputs as graph_inputs
from wengert.symbolic.programs.registered import REWRITES, Rewrite


class Optimizer:
    """A rewrite of whole graphs: a subclass has `apply`, which changes the graph it is given.

    >>> from wengert.symbolic import gof
    >>> from wengert.symbolic import tensor as T
    >>> class Undo(gof.Optimizer):
    ...     def apply(self, fgraph):
    ...         for node in fgraph.toposort():
    ...             if node.op == T.exp and node.inputs[0].owner.op == T.log:
    ...                 fgraph.replace_validate(node.outputs[0], node.inputs[0].owner.inputs[0])
    >>> x = T.dscalar("x")
    >>> graph = gof.FunctionGraph([x], [T.exp(T.log(x)) + 1])
    >>> Undo().optimize(graph)
    >>> graph.toposort()
    [Elemwise{add,no_inplace}(x, TensorConstant{1})]
    """

    name: str | None = None

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Change a graph."""
        raise NotImplementedError

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that `apply` needs."""

    def optimize(self, fgraph: FunctionGraph, *args: Any, **options: Any) -> Any:
        """Attach the features, and change a graph."""
        fgraph.attach_feature(ReplaceValidate())
        self.add_requirements(fgraph)
        return self.apply(fgraph, *args, **options)

    __call__ = optimize

    def changed(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """The outputs of a graph after the rewrite."""
        return _changed(self, inputs, outputs)

    def __str__(self) -> str:
        return self.name or type(self).__name__

    __repr__ = __str__


class FromFunctionOptimizer(Optimizer):
    """A function that changes a graph as a rewrite."""

    def __init__(self, fn: Callable[[FunctionGraph], Any], requirements: Any = ()) -> None:
        self.fn, self.requirements = fn, requirements
        self.name = getattr(fn, "__name__", None)

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Call the function."""
        return self.fn(fgraph)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """What was asked for."""
        for requirement in self.requirements:
            requirement(fgraph)


def optimizer(f: Callable[[FunctionGraph], Any]) -> FromFunctionOptimizer:
    """Makes a rewrite of a function that changes a graph."""
    return FromFunctionOptimizer(f)


class SeqOptimizer(Optimizer, list[Any]):
    """Rewrites of whole graphs, one after the other."""

    def __init__(self, *opts: Any, **options: Any) -> None:
        several = len(opts) == 1 and isinstance(opts[0], list | tuple)
        list.__init__(self, opts[0] if several else opts)

    def apply(self, fgraph: FunctionGraph) -> None:
        """Run them."""
        for opt in self:
            opt.optimize(fgraph)


class MergeOptimizer(Optimizer):
    """Makes equal expressions of a graph one."""

    def apply(self, fgraph: FunctionGraph) -> None:
        """Replace what has been computed before; constants of one value are one."""
        first: dict[Any, Any] = {}
        for node in fgraph.toposort():
            for x in list(node.inputs):
                if isinstance(x, Constant):
                    same = first.setdefault(("constant", x.type, x.key()), x)
                    if same is not x:
                        fgraph.replace(x, same, "merge")
            known = first.setdefault((node.op, *map(id, node.inputs)), node)
            if known is not node:
                fgraph.replace_all(zip(node.outputs, known.outputs, strict=True), "merge")


merge_optimizer = MergeOptimizer()


class TopoOptimizer(Optimizer):
    """A rewrite of single nodes, for all nodes of a graph."""

    def __init__(self, local_opt: Any, order: str = "in_to_out", **options: Any) -> None:
        self.local_opt, self.order = local_opt, order
        self.name = options.get("name") or getattr(local_opt, "name", None)

    def transform(self, node: Apply) -> Any:
        """That of single nodes."""
        return self.local_opt.transform(node)

    def tracks(self) -> Sequence[Any] | None:
        """As the rewrite of single nodes."""
        tracked: Sequence[Any] | None = self.local_opt.tracks()
        return tracked

    def apply(self, fgraph: FunctionGraph) -> None:
        """Rewrite the nodes in their order."""
        rewrite = Rewrite(str(self), frozenset(), tracks_of(self.local_opt), self.transform)
        nodes = fgraph.toposort()
        for node in nodes if self.order == "in_to_out" else reversed(nodes):
            new = rewrite.results(node) if rewrite.tracked(node) else None
            if new is not None:
                fgraph.replace_all(zip(node.outputs, new, strict=True), str(self))


class LocalOptimizer:
    """A rewrite of single nodes: a subclass has `transform`, and `tracks` may list operations."""

    name: str | None = None

    def tracks(self) -> Sequence[Any] | None:
        """Classes of operations, or operations; None for all."""
        return None

    def transform(self, node: Apply) -> Any:
        """What stands for the node's outputs, in a list; False for no change."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name or type(self).__name__


class FromFunctionLocalOptimizer(LocalOptimizer):
    """A function of a node as a rewrite."""

    def __init__(self, fn: Callable[[Apply], Any], tracks: Sequence[Any] | None = None,
                 requirements: Any = ()) -> None:  # fmt: skip
        self.function, self._tracks = fn, tracks
        self.name = getattr(fn, "__name__", None)
        self.__doc__ = fn.__doc__

    def tracks(self) -> Sequence[Any] | None:
        """As given."""
        return self._tracks

    def transform(self, node: Apply) -> Any:
        """What the function gives."""
        return self.function(node)


class OpRemove(LocalOptimizer):
    """The inputs of an operation, in place of its outputs."""

    def __init__(self, op: Any) -> None:
        self.op = op

    def tracks(self) -> Sequence[Any]:
        """The operation."""
        return [self.op]

    def op_key(self) -> Any:
        """The operation, for `OpKeyOptimizer`."""
        return self.op

    def transform(self, node: Apply) -> Any:
        """The inputs, if there are as many."""
        return list(node.inputs) if node.nin == node.nout else False


class OpSub(LocalOptimizer):
    """An operation in place of another."""

    def __init__(self, op1: Any, op2: Any, transfer_tags: bool = True) -> None:
        self.op1, self.op2 = op1, op2

    def tracks(self) -> Sequence[Any]:
        """The operation that is replaced."""
        return [self.op1]

    def op_key(self) -> Any:
        """That operation, for `OpKeyOptimizer`."""
        return self.op1

    def transform(self, node: Apply) -> Any:
        """The other operation, of the same inputs."""
        return self.op2(*node.inputs, return_list=True)


class PatternSub(LocalOptimizer):
    """A graph in place of another.

    A pattern is a tuple of an operation and patterns of its inputs; text stands for any variable,
    the same text for the same one; ``{"pattern": p, "constraint": f}`` matches what `f` accepts;
    numbers match constants.

    >>> from wengert.symbolic import gof
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar("x")
    >>> rewrite = gof.PatternSub((T.sqrt, (T.sqr, "a")), (T.abs_, "a"))
    >>> rewrite.transform(T.sqrt(T.sqr(x)).owner)
    [Elemwise{abs_,no_inplace}.0]
    """

    def __init__(self, in_pattern: Any, out_pattern: Any, allow_multiple_clients: bool = False,
                 skip_identities_fn: Any = None, name: str | None = None,
                 tracks: Any = (), get_nodes: Any = None) -> None:  # fmt: skip
        self.in_pattern, self.out_pattern, self.name = in_pattern, out_pattern, name

    def op_key(self) -> Any:
        """The operation at the root of the pattern, for `OpKeyOptimizer`."""
        root = self.in_pattern
        while isinstance(root, dict):
            root = root["pattern"]
        return root[0]

    def transform(self, node: Apply) -> Any:
        """The other graph, if the node is the root of the first."""
        if node.nout != 1:
            return False
        found: dict[str, Any] = {}
        if not _matches(self.in_pattern, node.outputs[0], found):
            return False
        return [_built(self.out_pattern, found)]


def _op_of(symbol: Any) -> Any:
    """The operation that a pattern names: itself, or what a function such as ``T.exp`` applies."""
    return getattr(symbol, "op", symbol)


def _matches(pattern: Any, v: Any, found: dict[str, Any]) -> bool:
    if isinstance(pattern, dict):
        accepted = pattern.get("constraint", lambda _: True)
        return _matches(pattern["pattern"], v, found) and bool(accepted(v))
    if isinstance(pattern, str):
        return bool(found.setdefault(pattern, v) is v)
    if isinstance(pattern, tuple):
        node = v.owner
        if node is None or node.op != _op_of(pattern[0]) or node.nin != len(pattern) - 1:
            return False
        return all(_matches(p, x, found) for p, x in zip(pattern[1:], node.inputs, strict=True))
    value = pattern.data if isinstance(pattern, Constant) else pattern
    return isinstance(v, Constant) and bool(np.all(v.data == value))


def _built(pattern: Any, found: dict[str, Any]) -> Any:
    if isinstance(pattern, str):
        return found[pattern]
    if isinstance(pattern, tuple):
        return pattern[0](*[_built(p, found) for p in pattern[1:]])
    return pattern


class LocalOptGroup(LocalOptimizer):
    """Several rewrites as one: the first that changes something is taken."""

    def __init__(self, *optimizers: Any, **options: Any) -> None:
        self.opts = list(optimizers)

    def transform(self, node: Apply) -> Any:
        """The result of the first that gives one."""
        for opt in self.opts:
            if Rewrite(str(opt), frozenset(), tracks_of(opt), opt.transform).tracked(node):
                new = opt.transform(node)
                if new:
                    return new
        return False


def local_optimizer(tracks: Any, inplace: bool = False, requirements: Any = ()
                    ) -> Callable[[Any], FromFunctionLocalOptimizer]:  # fmt: skip
    """Makes a rewrite of a function of a node, for some operations."""
    if tracks is not None and not tracks:
        raise ValueError("Use None instead of an empty list to register to all ops")
    return lambda function: FromFunctionLocalOptimizer(function, tracks)


def in2out(*local_opts: Any, **options: Any) -> TopoOptimizer:
    """A rewrite of single nodes for all nodes of a graph, from the inputs to the outputs."""
    group = local_opts[0] if len(local_opts) == 1 else LocalOptGroup(*local_opts)
    return TopoOptimizer(group, "in_to_out", name=options.get("name"))


def out2in(*local_opts: Any, **options: Any) -> TopoOptimizer:
    """A rewrite of single nodes for all nodes of a graph, from the outputs to the inputs."""
    group = local_opts[0] if len(local_opts) == 1 else LocalOptGroup(*local_opts)
    return TopoOptimizer(group, "out_to_in", name=options.get("name"))


def tracks_of(opt: Any) -> tuple[Any, ...] | None:
    tracked = opt.tracks() if hasattr(opt, "tracks") else None
    return None if tracked is None else tuple(_op_of(t) for t in tracked)


def register(rewrite: Any, *tags: str, **options: Any) -> Any:
    """Have a rewrite run where functions are compiled, and give it back.

    With a tag alone, gives what registers one. `name` is what modes include and exclude.
    """
    if isinstance(rewrite, str):
        return lambda own: register(own, rewrite, *tags, **options)
    name = options.pop("name", None) or str(rewrite)
    enter(name, rewrite, "fast_run", *tags)
    return rewrite


def enter(name: str, rewrite: Any, *tags: str) -> None:
    """Put a rewrite where functions look; a name that is taken gets the new one."""
    if hasattr(rewrite, "transform"):
        entry = Rewrite(name, frozenset(tags), tracks_of(rewrite), rewrite.transform)
    elif hasattr(rewrite, "optimize"):
        entry = Rewrite(name, frozenset(tags), None, None, partial(_changed, rewrite))
    else:
        raise TypeError(
            "a rewrite has a method transform(node), or apply(fgraph) and optimize(fgraph), and"
            f" {rewrite!r} has none"
        )
    REWRITES[:] = [r for r in REWRITES if r.name != name]
    REWRITES.append(entry)


def _changed(rewrite: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The outputs of a graph after a rewrite of it as a whole."""
    free = [v for v in graph_inputs(outputs) if not isinstance(v, Constant)]
    graph = FunctionGraph(free, outputs)
    rewrite.optimize(graph)
    return replaced(graph.outputs, dict(zip(graph.inputs, free, strict=True)))


def copy_stack_trace(from_var: Any, to_var: Any) -> Any:
    """The second variable: where a variable was made is kept without it."""
    return to_var
