"""A recorded graph as an ONNX graph: every node is converted, in-place writes become new values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.fx import Graph, Node
from wengert.fx.experimental.recorder import BoundCall, RandomDraw, ValueInfo
from wengert.fx.node import map_aggregate
from wengert.onnx.builder import CONVERSIONS, Builder, Value
from wengert.onnx.conversions.elementwise import SIZES
from wengert.ops.op import REGISTRY

Results = Any  # names, or nested lists of names


class GraphConversion:
    """Converts the nodes of a graph in order.

    A write to memory is a new value of what it is written to. The views of that memory that are
    read later are made again from the new value.
    """

    def __init__(self, builder: Builder, custom: dict[Any, Callable[..., Any]]) -> None:
        self.builder, self.custom = builder, custom
        self.results: dict[Node, Results] = {}
        self._versions: dict[Node, int] = {}  # writes to the memory of a node that is no view
        self._read_at: dict[Node, int] = {}
        self._names = {op.function: name for name, op in REGISTRY.items()}

    def run(self, graph: Graph) -> None:
        """Convert everything but inputs, attributes and the output, which have results already."""
        for node in graph.nodes:
            if node.op == "call_function":
                if node.target is Tensor.copy_:
                    self._write(*node.args)
                    self.results[node] = self.name_of(node.args[0])
                else:
                    self.results[node] = self._converted(node)
                    root = self._root(node)
                    self._read_at[node] = self._versions.get(root, 0)

    def name_of(self, node: Node) -> Results:
        """The name of the value that a node has now."""
        root = self._root(node)
        if root is not node and self._read_at.get(node, 0) != self._versions.get(root, 0):
            self.name_of(node.meta["view_of"])
            source = node if node.target is not operator.getitem else node.args[0]
            self.results[source] = self._converted(source)
            if source is not node:
                self.results[node] = self.results[source][node.args[1]]
            self._read_at[node] = self._versions.get(root, 0)
        return self.results[node]

    def _root(self, node: Node) -> Node:
        while "view_of" in node.meta:
            node = node.meta["view_of"]
        return node

    def value(self, node: Node, name: str | None = None) -> Value:
        """What is known of a node's value."""
        name = self.name_of(node) if name is None else name
        info = node.meta.get("val")
        if not isinstance(info, ValueInfo):  # a number that follows from sizes
            fractional = node.target is operator.truediv
            return Value(name, np.dtype(np.float32 if fractional else np.int64), ((),))
        shapes = node.meta.get("shapes") or [tuple(info.shape)]
        return Value(name, info.dtype.np, tuple(map(tuple, shapes)))

    def _converted(self, node: Node, source: Value | None = None) -> Results:
        """The names of a node's results; with another first argument, if `source` is given."""
        if node.target is operator.getitem and isinstance(node.args[0], Node):
            return self.results[node.args[0]][node.args[1]]

        def read(x: Any) -> Any:
            if not isinstance(x, Node):
                return x
            return self.value(x)

        args, kwargs = map_aggregate((node.args, node.kwargs), read)
        if isinstance(node.target, BoundCall):
            kwargs = {**kwargs, **node.target.bound}
        if source is not None:
            args = (source, *args[1:])
        b = self.builder
        line = (node.stack_trace or "").strip().splitlines()
        name = self._name(node.target)
        b.where = f"{name} ({line[0].strip().removeprefix('File ')})" if line else name
        info = node.meta.get("val")
        b.out = self.value(node, "") if isinstance(info, ValueInfo) else b.out
        return self._conversion(node.target, name)(b, *args, **kwargs)

    def _name(self, target: Any) -> str:
        if isinstance(target, BoundCall):
            target = target.function
        name = self._names.get(target, getattr(target, "__name__", str(target)))
        return "getitem" if name == "__getitem__" else name

    def _conversion(self, target: Any, name: str) -> Callable[..., Any]:
        if target in self.custom:
            return self.custom[target]
        if target in SIZES:
            return SIZES[target]
        if isinstance(target, RandomDraw):
            raise self.builder.refuse(
                "random numbers have no counterpart in ONNX here; export the model in evaluation"
                " mode, and draw outside of it"
            )
        if name not in CONVERSIONS:
            raise self.builder.refuse(
                f"the operation {name.strip('_')!r} has no conversion to ONNX"
            )
        return CONVERSIONS[name]

    def _write(self, target: Node, source: Node) -> None:
        """Give the memory of `target` the elements of `source`."""
        b = self.builder
        name, root = self.name_of(source), self._root(target)
        chain = []
        while "view_of" in target.meta:
            chain.append(target)
            target = target.meta["view_of"]
        if chain:
            old = self.value(root)
            flat = b.reshape(old, (-1,))
            places = b.reshape(self._places(root, chain[::-1]), (-1,))
            written = b("ScatterElements", flat, places, b.reshape(name, (-1,)), axis=0)
            name = b("Reshape", written, b("Shape", old))
        self.results[root] = name
        self._versions[root] = self._versions.get(root, 0) + 1

    def _places(self, root: Node, chain: list[Node]) -> str:
        """Where in the memory of `root` the elements of a view of it are."""
        b = self.builder
        old = self.value(root)
        zero, one = (b.constant(k, np.int64) for k in (0, 1))
        numbers = b("Range", zero, b("Size", old), one)
        name = b("Reshape", numbers, b("Shape", old))
        source = root
        for view in chain:
            place = Value(name, np.dtype(np.int64), self.value(source).shapes)
            if view.target is operator.getitem:
                name = self._converted(view.args[0], place)[view.args[1]]
            else:
                name = self._converted(view, place)
            source = view
        return name
