"""``torch._dynamo.testing``: backends that count."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.compiler_backends import lookup_backend
from wengert.compat._private.compiler_comparisons import *  # noqa: F403
from wengert.compat._private.compiler_comparisons import __all__ as _of_comparisons
from wengert.fx.joint import compiled_with_backward


class CompileCounter:
    """Counts the graphs that it is given, and their operations."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call") for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Begin at 0 again."""
        self.frame_count = self.op_count = 0


class EagerAndRecordGraphs:
    """Keeps the graphs that it is given, and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.example_inputs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        self.example_inputs.append(example_inputs)
        return gm.forward


class AotEagerAndRecordGraphs(EagerAndRecordGraphs):
    """Keeps the graphs that it is given; those of the backward apart."""

    def __init__(self) -> None:
        super().__init__()
        self.fw_graphs: list[Any] = []
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        super().__call__(gm, example_inputs)

        def kept(graphs: list[Any]) -> Any:
            def compiler(graph: Any, inputs: Any) -> Any:
                graphs.append(graph)
                return graph.forward

            return compiler

        return compiled_with_backward(
            gm, example_inputs, kept(self.fw_graphs), kept(self.bw_graphs)
        )


class InductorAndRecordGraphs(EagerAndRecordGraphs):
    """Keeps the graphs that it is given; those that were rewritten apart."""

    def __init__(self) -> None:
        super().__init__()
        self.inductor_graphs: list[Any] = []


class CompileCounterWithBackend(CompileCounter):
    """Counts the graphs that it is given, and keeps them; `backend` is another one's name."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        super().__call__(gm, example_inputs)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Begin at 0 again, without graphs."""
        super().clear()
        self.graphs: list[Any] = []


__all__ = [
    *_of_comparisons, "AotEagerAndRecordGraphs", "CompileCounter", "CompileCounterWithBackend",
    "EagerAndRecordGraphs", "InductorAndRecordGraphs",
]  # fmt: skip
