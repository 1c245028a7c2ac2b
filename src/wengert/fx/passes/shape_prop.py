"""Shapes and dtypes of all values of a program, by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import wengert
from wengert.core.dtypes import dtype
from wengert.core.layout import memory_format
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.fx.interpreter import Interpreter
from wengert.fx.node import Node, map_aggregate
from wengert.nn import Module


class TensorMetadata(NamedTuple):
    """What a node's ``meta["tensor_meta"]`` says of its result.

    >>> import wengert
    >>> from wengert.fx.passes.shape_prop import ShapeProp
    >>> traced = wengert.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = ShapeProp(traced).propagate(wengert.ones(2))
    >>> [*traced.graph.nodes][1].meta["tensor_meta"].dtype
    torch.float32
    """

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool = False
    qparams: dict[str, Any] | None = None


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    order = None
    for candidate in (wengert.contiguous_format, wengert.channels_last):
        fits = candidate is wengert.contiguous_format or result.dim() == 4
        if include_contiguity and fits and result.is_contiguous(memory_format=candidate):
            order = candidate
            break
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), order)


class ShapeProp(Interpreter):
    """Runs a program, and notes in each node's `meta` what its result is.

    >>> import wengert
    >>> from wengert.fx.passes.shape_prop import ShapeProp
    >>> traced = wengert.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(traced).propagate(wengert.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm: Module, fake_mode: Any = None) -> None:
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp(fake_mode=): run the program on tensors of the meta device instead"
            )
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """The result of a node, which is also described in its `meta`."""
        result = super().run_node(n)
        tensors = False

        def describe(value: Any) -> Any:
            nonlocal tensors
            if isinstance(value, Tensor):
                tensors = True
                return _extract_tensor_metadata(value)
            return value

        described = map_aggregate(result, describe)
        if tensors:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the program on these inputs."""
        return super().run(*args)
