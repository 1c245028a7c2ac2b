"""``torch.fx.passes.graph_drawer``: graphs as pictures, which pydot draws."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wengert.fx.graph_module import GraphModule
from wengert.fx.node import Node, qualified_name

_COLORS = {
    "placeholder": "AliceBlue", "get_attr": "LightGrey", "call_module": "LemonChiffon1",
    "call_function": "Pink", "call_method": "Honeydew", "output": "PowderBlue",
}  # fmt: skip


class FxGraphDrawer:
    """A graph module as graphs of pydot: a record for each node, and an arrow for each use.

    Raises ImportError where there is no pydot. Options say what the records leave out.
    """

    def __init__(
        self, graph_module: GraphModule, name: str, ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False, skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False, dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:  # fmt: skip
        try:
            self._pydot: Any = import_module("pydot")
        except ImportError:
            raise ImportError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot"
                " through your favorite Python package manager."
            ) from None
        self._shape = dot_graph_shape or "record"
        self._skipped = ignore_getattr, ignore_parameters_and_buffers
        self._short, self._lines = skip_node_names_in_args, parse_stack_trace
        self._name = name
        self._graphs = {name: self._drawn(graph_module, name)}
        for path, module in graph_module.named_children():
            if isinstance(module, GraphModule):
                inner = f"{name}_{path}"
                self._graphs[inner] = self._drawn(module, inner)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The graph of the module, or that of a submodule by its name."""
        return self.get_main_dot_graph() if submod_name is None else self._graphs[submod_name]

    def get_main_dot_graph(self) -> Any:
        """The graph of the module."""
        return self._graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The graph of a submodule, called as the module and the submodule."""
        return self._graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All graphs by name."""
        return self._graphs

    def _drawn(self, module: GraphModule, name: str) -> Any:
        drawn = self._pydot.Dot(name, rankdir="TB")
        nodes = [n for n in module.graph.nodes if not (self._skipped[0] and n.op == "get_attr")]
        for node in nodes:
            color = _COLORS[node.op]
            style = {"style": '"filled,rounded"', "fillcolor": color, "fontcolor": "#000000"}
            label = self._label(module, node)
            drawn.add_node(self._pydot.Node(node.name, label=label, shape=self._shape, **style))
        for node in nodes:
            for user in node.users:
                drawn.add_edge(self._pydot.Edge(node.name, user.name))
        return drawn

    def _label(self, module: GraphModule, node: Node) -> str:
        target = node.target if isinstance(node.target, str) else qualified_name(node.target)
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            own = module.get_submodule(target)
            lines.append(type(own).__name__)
            held = [] if self._skipped[1] else [*own.named_parameters(), *own.named_buffers()]
            lines += [f"{name}: {tuple(value.shape)}" for name, value in held]
        lines.append(f"target={target}")
        args = [x for x in node.args if not (self._short and isinstance(x, Node))]
        if args and node.op.startswith("call"):
            lines.append(f"args={tuple(args)}")
        described: Any = node.meta.get("tensor_meta")
        if hasattr(described, "shape"):
            lines += [f"dtype={described.dtype}", f"shape={tuple(described.shape)}"]
        if self._lines and node.stack_trace:
            lines.append(node.stack_trace.strip().splitlines()[0])
        text = "|".join(line.replace("\\", "\\\\") for line in lines)
        for sign in "{}<>":
            text = text.replace(sign, "\\" + sign)
        return f'"{{{text}}}"'.replace("\n", " ")


__all__ = ["FxGraphDrawer"]
