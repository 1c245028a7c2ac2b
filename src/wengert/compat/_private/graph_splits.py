"""``torch.fx.passes.split_module``: a graph module as several, one in the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node, map_arg
from wengert.nn import Module


class _Part:
    """The graph of a submodule, and what it reads and gives of the others."""

    def __init__(self, name: str) -> None:
        self.name, self.graph = name, Graph()
        self.made: dict[Node, Node] = {}
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.targets: set[str] = set()
        self.after: set[str] = set()

    def begin(self, keep_names: bool) -> None:
        """Give the graph its inputs."""
        for k, x in enumerate(self.inputs):
            self.made[x] = self.graph.placeholder(x.name if keep_names else f"arg_{k}")
            self.made[x].meta = dict(x.meta)


def split_module(
    m: GraphModule, root_m: Module, split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None, keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False, keep_original_input_name: bool = True,
    *, partition_affix: str | None = None,
) -> GraphModule:  # fmt: skip
    """A module of submodules `submod_...`, of the nodes for which the callback gives the rest.

    Args:
        m: the program; `root_m` has what its nodes name.
        split_callback: is called with each node but inputs and outputs.
        qualname_map: takes the old names of what the submodules have, by their new ones.
        keep_original_order: whether submodules are called in the order in which they begin.
        keep_original_node_name: whether nodes keep their names.
        keep_original_input_name: whether the submodules' inputs are called as the values are.
        partition_affix: stands in the names of the submodules, behind ``submod``.

    Raises:
        RuntimeError: if submodules need each other's results.
    """
    affix = "submod" if partition_affix is None else f"submod_{partition_affix}"
    parts: dict[str, _Part] = {}
    of: dict[Node, _Part] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        name = str(split_callback(node))
        of[node] = parts.setdefault(name, _Part(f"{affix}_{name}"))
    for node in m.graph.nodes:
        for x in node.all_input_nodes:
            _connect(x, node, of)
    return _assembled(m, root_m, _ordered([*parts.values()], bool(keep_original_order)), of,
                      qualname_map, keep_original_node_name, keep_original_input_name)  # fmt: skip


def _connect(x: Node, user: Node, of: dict[Node, _Part]) -> None:
    """Note what parts have to do with a value that a node uses."""
    source, target = of.get(x), of.get(user)
    if source is target:
        return
    if target is not None:
        target.inputs.setdefault(x)
        if source is not None:
            target.after.add(source.name)
    if source is not None:
        source.outputs.setdefault(x)


def _ordered(parts: list[_Part], as_they_begin: bool) -> list[_Part]:
    if as_they_begin:
        return parts
    left, ordered, done = [*parts], list[_Part](), set[str]()
    while left:
        part = next((p for p in left if p.after <= done), None)
        if part is None:
            raise RuntimeError(
                f"cycle exists between partitions! {', '.join(p.name for p in left)} need each"
                " other's results"
            )
        left.remove(part)
        ordered.append(part)
        done.add(part.name)
    return ordered


def _assembled(
    m: GraphModule, root_m: Module, parts: list[_Part], of: dict[Node, _Part],
    qualname_map: dict[str, str] | None, keep_nodes: bool | None, keep_names: bool,
) -> GraphModule:  # fmt: skip
    base, values, held = Graph(), dict[Node, Node](), dict[str, Any]()
    for node in m.graph.nodes:
        if node.op == "placeholder":
            values[node] = base.node_copy(node)
        elif node.op == "get_attr":
            values[node] = base.node_copy(node)
            held[str(node.target)] = _attribute(root_m, str(node.target))
    for part in parts:
        part.begin(keep_names)
    for node in m.graph.nodes:
        if node in of:
            _take(of[node], node, bool(keep_nodes))
    for part in parts:
        results = [part.made[x] for x in part.outputs]
        part.graph.output(results[0] if len(results) == 1 else tuple(results))
        owned = {name: _attribute(root_m, name) for name in sorted(part.targets)}
        if qualname_map is not None:
            qualname_map.update({f"{part.name}.{name}": name for name in owned})
        held[part.name] = GraphModule(owned, part.graph)
        call = base.call_module(part.name, tuple([values[x] for x in part.inputs]))
        for k, x in enumerate(part.outputs):
            values[x] = (
                call if len(results) == 1 else base.call_function(operator.getitem, (call, k))
            )
    (result,) = m.graph.output_node().args
    base.output(map_arg(result, values.__getitem__))
    return GraphModule(held, base)


def _take(part: _Part, node: Node, keep_name: bool) -> None:
    """Copy a node to a part."""
    args, kwargs = map_arg((node.args, node.kwargs), part.made.__getitem__)
    name = node.name if keep_name else None
    copy = part.graph.create_node(node.op, node.target, args, kwargs, name, node.type)
    copy.meta = dict(node.meta)
    part.made[node] = copy
    if node.op == "call_module":
        part.targets.add(str(node.target))


def _attribute(root: Module, path: str) -> Any:
    value: Any = root
    for name in path.split("."):
        value = getattr(value, name)
    return value


__all__ = ["split_module"]
