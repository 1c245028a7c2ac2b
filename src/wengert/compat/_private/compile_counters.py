"""``torch._dynamo.testing``: a backend that counts; `compile` calls none, and it stays at 0."""

from __future__ import annotations

from typing import Any


class CompileCounter:
    """Counts the graphs that it is given, and their calls."""

    def __init__(self) -> None:
        self.frame_count = self.op_count = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call") for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Begin at 0 again."""
        self.frame_count = self.op_count = 0


__all__ = ["CompileCounter"]
