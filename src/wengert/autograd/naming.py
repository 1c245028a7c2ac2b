"""Names of nodes, calls and tensor sources in errors and reports: the op and its line."""

from __future__ import annotations

from typing import Any

from wengert.core.storage import quoted_location
from wengert.core.tensor import Call, Cut, Leaf, Node


def describe_node(node: Node) -> str:
    """Describe a node: its op, module (if any) and line."""
    path = node.site.path()
    inside = f" in {path}" if path else ""
    return f"{op_name(node)}{inside} ({quoted_location(node.code, node.lasti)})"


def describe_call(call: Call | Cut | None) -> str:
    """A call and its line."""
    assert call is not None
    return f"{call.what}  at {quoted_location(call.code, call.lasti)}"


def op_name(node: Node) -> str:
    """The public name of a node's operation: that of the function that was called."""
    return public_name(getattr(type(node), "op", None) or type(node), len(node.shape))


def public_name(op: Any, rank: int) -> str:
    """The public name of an operation, or node class, whose results have so many dimensions."""
    name = _name_of(op)
    return f"{name}{rank - 2}d" if name in OF_IMAGES else name


def op_name_of_class(kind: type[Node]) -> str:
    """The name of the operation of a node class; for a Function, its class name."""
    return _name_of(getattr(kind, "op", None) or kind)


def _name_of(named: Any) -> str:
    name: str = getattr(named, "public_name", "") or getattr(named, "__name__", "")
    return name.removesuffix("Backward")


# Operations for any number of dimensions; their public names include the number.
OF_IMAGES = frozenset(
    ("adaptive_max_pool", "avg_pool", "conv", "conv_transpose", "max_pool", "max_unpool")
)


def origin(node: Node) -> str:
    """Where a tensor comes from: the operation that made it, or the line that made a leaf."""
    return (
        describe_node(node)
        if type(node) is not Leaf
        else f"a leaf ({quoted_location(node.code, node.lasti)})"
    )
