"""``torch.fx.passes.operator_support`` and ``tools_common``: which nodes something can run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any

from wengert import Tensor
from wengert.fx.graph import Graph
from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node, library_name, qualified_name
from wengert.nn import Module

Names = list[str]
NodeList = list[Node]
NodeSet = set[Node]
Tensors = tuple[Tensor, ...] | list[Tensor]
TensorOrTensors = Tensor | Tensors
TargetTypeName = str
SupportDict = Mapping[TargetTypeName, Any]
IsNodeSupported = Callable[[Mapping[str, Module], Node], bool]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """A name of what a node calls: the class of a module, a function's path, or a method."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {sorted(CALLABLE_NODE_OPS)}, but found {node.op}")
    target: Any = node.target
    if node.op == "call_module":
        kind = type(submodules[target])
        path = f"{kind.__module__}.{kind.__qualname__}"
        own = path.startswith("wengert.")
        return path.replace("wengert", library_name(), 1) if own else path
    if isinstance(target, str):
        return target
    name = qualified_name(target)
    return f"_{name}" if name.startswith("operator.") else name  # where Python defines them


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's result is a tensor, as far as its `meta` says what it is."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """The module with its nodes in an order in which each stands behind what it uses."""
    graph, made, left = Graph(), dict[Node, Node](), [*gm.graph.nodes]
    while left:
        ready = [n for n in left if all(x in made for x in n.all_input_nodes)]
        if not ready:
            raise RuntimeError(f"Input graph has cycles, unable to add {[n.name for n in left]}")
        for node in sorted(ready, key=lambda n: n.op == "output"):
            if node.op == "output" and len(left) > 1:
                continue
            made[node] = graph.node_copy(node, made.__getitem__)
            left.remove(node)
    gm.graph = graph
    return gm


class OperatorSupportBase(ABC):
    """Says of nodes whether they are supported."""

    @abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node is supported; `submodules` are those that the graph calls, by name."""


class OperatorSupport(OperatorSupportBase):
    """Supports what stands in a dictionary by `get_node_target`, and values that pass through.

    Its values are None, or dtypes that inputs may have: ``((of the first, ...), {by name: ...})``,
    from ``meta["tensor_meta"]``.
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node is supported."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        positional, named = dtypes
        pairs = [(node.args[k], some) for k, some in enumerate(positional) if k < len(node.args)]
        pairs += [(node.kwargs[name], some) for name, some in named.items() if name in node.kwargs]
        return all(_dtype_of(x) in some for x, some in pairs if isinstance(x, Node) and some)


def _dtype_of(node: Node) -> Any:
    return getattr(node.meta.get("tensor_meta"), "dtype", None)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """A support that a function decides."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what all of them support."""
    return create_op_support(lambda subs, n: all(x.is_node_supported(subs, n) for x in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what one of them supports."""
    return create_op_support(lambda subs, n: any(x.is_node_supported(subs, n) for x in op_support))


class OpSupports:
    """Supports that decline some nodes, for `chain`."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Decline what has an input of a dtype."""
        return create_op_support(
            lambda _, node: all(_dtype_of(x) != dtype for x in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: Collection[str]) -> OperatorSupportBase:
        """Decline nodes by name."""
        return create_op_support(lambda _, node: node.name not in disallow_set)


__all__ = [
    "CALLABLE_NODE_OPS", "IsNodeSupported", "Names", "NodeList", "NodeSet", "OpSupports",
    "OperatorSupport", "OperatorSupportBase", "SupportDict", "TargetTypeName", "TensorOrTensors",
    "Tensors", "any_chain", "chain", "create_op_support", "get_node_target",
    "is_node_output_tensor", "legalize_graph",
]  # fmt: skip
