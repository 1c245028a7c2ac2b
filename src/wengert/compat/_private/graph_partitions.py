"""``torch.fx.passes.infra.partitioner``: what something supports, gathered in submodules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wengert.compat._private.operator_supports import (
    OperatorSupportBase,
    get_node_target,
    legalize_graph,
)
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node


class NodePartition:
    """Nodes that become one submodule."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, Any] = dict.fromkeys(nodes or ())

    def add_node(self, node: Node) -> None:
        """Add a node."""
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        """Take a node away."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return str([*self.nodes])


Partition = NodePartition


class CapabilityBasedPartitioner:
    """Gathers the nodes of a graph that are supported: as many together as do not need others.

    Args:
        graph_module: the program.
        operator_support: says which nodes are supported.
        allows_single_node_partition: whether a node may be alone in a submodule.
        non_compute_ops, allowed_single_node_partition_ops: names of functions: the first do not
            count where two are needed; the second may be alone.
        skip_horizontal_fusion: whether only nodes come together that use each other's results.
    """

    def __init__(
        self, graph_module: GraphModule, operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False, non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        *, skip_horizontal_fusion: bool = False,
    ) -> None:  # fmt: skip
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = {*(non_compute_ops or ())}
        self.allowed_alone = {*(allowed_single_node_partition_ops or ())}
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self.modules = dict(graph_module.named_modules())

    def propose_partitions(self) -> list[Partition]:
        """The partitions: no node outside stands between two of one."""
        nodes = [*self.graph_module.graph.nodes]
        before = _ancestors(nodes)
        groups: list[dict[Node, None]] = []
        for node in nodes:
            calls = node.op in ("call_module", "call_function", "call_method")
            if not calls or not self.operator_support.is_node_supported(self.modules, node):
                continue
            near = [g for g in groups if any(x in g for x in node.all_input_nodes)]
            tried = near if self.skip_horizontal_fusion else [*near, *groups]
            own = next((g for g in tried if _is_closed({*g, node}, nodes, before)), None)
            if own is None:
                groups.append({node: None})
            else:
                own[node] = None
        return [
            Partition(k, g) for k, g in enumerate(filter(self._counts, _disentangled(groups)))
        ]  # fmt: skip

    def _counts(self, group: dict[Node, None]) -> bool:
        if self.allows_single_node_partition:
            return True
        # As in PyTorch, calls of functions count, not those of modules and methods.
        names = [get_node_target(self.modules, n) for n in group if n.op == "call_function"]
        computing = [name for name in names if name not in self.non_compute_ops]
        return len(computing) > 1 or any(name in self.allowed_alone for name in computing)

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The program with a submodule for each partition."""
        return fuse_by_partitions(self.graph_module, [p.nodes for p in partitions], prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """`fuse_partitions` of those that are proposed."""
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _ancestors(nodes: list[Node]) -> dict[Node, set[Node]]:
    found: dict[Node, set[Node]] = {}
    for node in nodes:
        found[node] = set().union(*({x} | found[x] for x in node.all_input_nodes))
    return found


def _is_closed(group: set[Node], nodes: list[Node], before: dict[Node, set[Node]]) -> bool:
    """Whether no node outside depends on some and is needed by others."""
    needed = set().union(*(before[n] for n in group))
    return not any(n in needed and n not in group and before[n] & group for n in nodes)


def _disentangled(groups: list[dict[Node, None]]) -> Iterator[dict[Node, None]]:
    """Groups that do not need each other in turn; of those that do, some are taken apart."""
    kept: list[dict[Node, None]] = []
    for group in groups:
        if _have_an_order([*kept, group]):
            kept.append(group)
        else:
            kept += [{node: None} for node in group]
    yield from kept


def _have_an_order(groups: list[dict[Node, None]]) -> bool:
    """Whether groups can be computed one after another, with all else in between."""
    of = {node: k for k, group in enumerate(groups) for node in group}
    first = next(iter(groups[0]))
    units: dict[Any, set[Any]] = {}
    for node in first.graph.nodes:
        unit = of.get(node, node)
        needs = {of.get(x, x) for x in node.all_input_nodes} - {unit}
        units.setdefault(unit, set()).update(needs)
    while units:
        ready = [unit for unit, needs in units.items() if not needs & units.keys()]
        if not ready:
            return False
        for unit in ready:
            del units[unit]
    return True


def fuse_by_partitions(
    gm: GraphModule, partitions: Sequence[Iterable[Node]], prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:  # fmt: skip
    """The program with a submodule `prefix` and a number for each of some sets of nodes."""
    if always_return_tuple:
        raise NotImplementedError("fuse_by_partitions: always_return_tuple is not supported")
    for k, nodes in enumerate(partitions):
        names = {node.name for node in nodes}
        _fuse(gm, [node for node in gm.graph.nodes if node.name in names], f"{prefix}{k}")
        legalize_graph(gm)
    gm.recompile()
    return gm


def _fuse(gm: GraphModule, nodes: list[Node], name: str) -> None:
    """Let a submodule compute some nodes: the graph calls it at its end."""
    own, graph, made = {*nodes}, Graph(), dict[Node, Node]()
    inputs = dict.fromkeys([x for n in nodes for x in n.all_input_nodes if x not in own])
    for x in inputs:
        made[x] = graph.placeholder(x.name)
        made[x].meta = dict(x.meta)
    for node in nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    outputs = [node for node in nodes if any(user not in own for user in node.users)]
    results = [made[node] for node in outputs]
    graph.output(results[0] if len(results) == 1 else tuple(results))
    called = [str(n.target) for n in nodes if n.op == "call_module"]
    gm.add_module(name, GraphModule({path: gm.get_submodule(path) for path in called}, graph))
    with gm.graph.inserting_before(gm.graph.output_node()):
        call = gm.graph.call_module(name, tuple(inputs))
        for k, node in enumerate(outputs):
            alone = len(outputs) == 1
            value = call if alone else gm.graph.call_function(operator.getitem, (call, k))
            value.meta = dict(node.meta)
            node.replace_all_uses_with(value, lambda user: user not in own)
    for node in reversed(nodes):
        gm.graph.erase_node(node)


__all__ = ["CapabilityBasedPartitioner", "Partition", "fuse_by_partitions"]
