"""Exported programs as modules inside of modules, as they were before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import getitem
from typing import Any

from wengert.export.exported_program import ExportedProgram, ProgramModule
from wengert.fx import Graph, GraphModule, Node
from wengert.fx.node import map_arg


class UnflattenedModule(ProgramModule):
    """An exported program whose submodules are those of the module that was exported.

    A submodule takes the tensors that its operations read, and returns those that others need.
    Where a module was called several times and did not always compute the same, the other
    computations are submodules of their own, `name@1` and so on, with the same parameters.

    Args:
        export_module: the program.
        flat_args_adapter: not supported: NotImplementedError.

    >>> import wengert
    >>> program = wengert.export.export(
    ...     wengert.nn.Sequential(wengert.nn.ReLU()), (wengert.ones(2),)
    ... )
    >>> wengert.export.UnflattenedModule(program)(wengert.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    refusal = RuntimeError
    fixed = False

    def __init__(self, export_module: ExportedProgram, flat_args_adapter: Any = None) -> None:
        if flat_args_adapter is not None:
            raise NotImplementedError("unflatten: flat_args_adapter is not supported")
        flat = export_module.module()
        paths: dict[int, list[str]] = {}
        for path, tensor in export_module.state_dict.items():
            paths.setdefault(id(tensor), []).append(path)
        scope = _Scope("", 0, _State(flat, paths))
        nodes = []
        for node in flat.graph.nodes:
            if node.op == "placeholder":
                scope.values[node] = copy = scope.graph.placeholder(str(node.target))
                copy.meta = dict(node.meta)
            elif node.op not in ("get_attr", "output"):
                nodes.append(node)
        scope.take(nodes)
        scope.graph.output(scope.argument(flat.graph.output_node().args[0]))
        super().__init__(export_module, scope.root, scope.graph, checked=True)
        type(self).__name__ = "UnflattenedModule"


def unflatten(module: ExportedProgram, flat_args_adapter: Any = None) -> UnflattenedModule:
    """Make a module with the hierarchy of the one that was exported.

    Args:
        module: the program.
        flat_args_adapter: not supported: NotImplementedError.

    >>> import wengert
    >>> from wengert import nn
    >>> net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    >>> program = wengert.export.export(net, (wengert.ones(4, 2),))
    >>> module = wengert.export.unflatten(program)
    >>> [name for name, _ in module.named_modules()]
    ['', '0', '1', '1.0', '1.1']
    >>> module(wengert.ones(4, 2)).shape
    torch.Size([4, 1])
    """
    return UnflattenedModule(module, flat_args_adapter)


class _State:
    """The tensors that a program reads, by the nodes that read them."""

    def __init__(self, flat: GraphModule, paths: dict[int, list[str]]) -> None:
        self.flat, self.paths = flat, paths

    def tensor(self, node: Node) -> Any:
        """What a node reads."""
        found: Any = self.flat
        for name in str(node.target).split("."):
            found = getattr(found, name)
        return found

    def name_below(self, prefix: str, node: Node) -> str | None:
        """The name that a tensor has in the module of that path, or None."""
        if node.op != "get_attr":
            return None
        names = self.paths.get(id(self.tensor(node)), [str(node.target)])
        return next((n.removeprefix(prefix) for n in names if n.startswith(prefix)), None)


class _Scope:
    """A module that is being made: its graph, and what that refers to.

    Attributes:
        prefix: of the names of its tensors in the whole.
        depth: the number of calls that lead to it.
        values: the nodes of the program in its own graph.
        root: its tensors and submodules by path.
    """

    def __init__(self, prefix: str, depth: int, state: _State) -> None:
        self.prefix, self.depth, self.state = prefix, depth, state
        self.graph, self.root = Graph(), dict[str, Any]()
        self.values: dict[Node, Node] = {}
        self.computed: dict[str, list[GraphModule]] = {}

    def take(self, nodes: Sequence[Node]) -> None:
        """Compute these: own operations, and runs of operations of submodules by calling those."""
        for call, run in groupby(nodes, self._call_of):
            if call is None:
                for node in run:
                    copied = self.graph.create_node(
                        node.op, node.target, self.argument(node.args), self.argument(node.kwargs)
                    )
                    copied.meta = dict(node.meta)
                    self.values[node] = copied
            else:
                self._call(call[0], list(run))

    def argument(self, value: Any) -> Any:
        """An argument, with the nodes of this graph."""
        return map_arg(value, self._value)

    def _call_of(self, node: Node) -> tuple[str, int] | None:
        """The call inside this module that computed a node, if it was not the module itself."""
        calls = node.meta.get("calls", ())[self.depth :]
        return (calls[0][0], calls[0][1]) if calls else None

    def _value(self, node: Node) -> Node:
        if node not in self.values:
            name = self.state.name_below(self.prefix, node)
            assert name is not None, f"{node} comes from elsewhere"
            self.values[node] = self.graph.get_attr(name)
            self.root[name] = self.state.tensor(node)
        return self.values[node]

    def _call(self, child: str, run: list[Node]) -> None:
        """Call a submodule that computes these."""
        inner = _Scope(f"{self.prefix}{child}.", self.depth + 1, self.state)
        own = set(run)
        read = dict.fromkeys(a for node in run for a in node.all_input_nodes if a not in own)
        taken = [n for n in read if self.state.name_below(inner.prefix, n) is None]
        given = [n for n in run if any(user not in own for user in n.users)]
        for node in taken:
            inner.values[node] = inner.graph.placeholder(f"arg_{len(inner.values)}")
        inner.take(run)
        results = [inner.values[n] for n in given]
        inner.graph.output(results[0] if len(results) == 1 else tuple(results))
        called = self.graph.call_module(
            self._named(child, GraphModule(inner.root, inner.graph)),
            tuple(self._value(n) for n in taken),
        )
        for k, node in enumerate(given):
            self.values[node] = (
                called if len(given) == 1 else self.graph.call_function(getitem, (called, k))
            )

    def _named(self, child: str, module: GraphModule) -> str:
        """The path at which a submodule is called: of one that computes the same, or a new one."""
        earlier = self.computed.setdefault(child, [])
        k = next((k for k, one in enumerate(earlier) if _same(one, module)), len(earlier))
        name = f"{child}@{k}" if k else child
        if k == len(earlier):
            earlier.append(module)
            self.root[name] = module
        return name


def _same(one: GraphModule, other: GraphModule) -> bool:
    """Whether two modules compute the same: those of one call, and of another."""
    return _programs(one) == _programs(other)


def _programs(module: GraphModule) -> list[tuple[str, str, list[Any]]]:
    """The programs of a module and of those in it: text does not tell all functions apart."""
    return [
        (path, inner.code, [node.target for node in inner.graph.nodes])
        for path, inner in module.named_modules()
        if isinstance(inner, GraphModule)
    ]


__all__ = ["UnflattenedModule", "unflatten"]
