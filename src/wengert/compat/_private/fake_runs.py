"""``torch.fx.passes.fake_tensor_prop``: shapes and dtypes of a program, without its elements."""

from __future__ import annotations

from typing import Any

from wengert import Tensor
from wengert.compat._private.fake_tensors import FakeTensor, FakeTensorMode
from wengert.fx.interpreter import Interpreter
from wengert.fx.node import Node
from wengert.nn import Module


class FakeTensorProp(Interpreter):
    """Runs a program on fake tensors, and keeps the result of each node in ``meta["val"]``."""

    def __init__(self, module: Module, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = mode or FakeTensorMode()

    def run_node(self, n: Node) -> Any:
        """The result of a node, which stands in its `meta`."""
        result = super().run_node(n)
        n.meta["val"] = result
        return result

    def fetch_attr(self, target: str) -> Any:
        """What an attribute is, as a fake tensor."""
        return self._fake(super().fetch_attr(target))

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A module with fake parameters and buffers."""
        from wengert.func import functional_call

        module = self.fetch_attr(target)
        state = [*module.named_parameters(), *module.named_buffers()]
        return functional_call(module, {k: self._fake(v) for k, v in state}, args, kwargs)

    def _fake(self, value: Any) -> Any:
        plain = isinstance(value, Tensor) and not isinstance(value, FakeTensor)
        return self._mode.from_tensor(value) if plain else value

    def propagate(self, *args: Any) -> Any:
        """Run on fake tensors that are like the arguments; give the result."""
        return self.propagate_dont_convert_inputs(*map(self._fake, args))

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run on fake tensors."""
        with self._mode:
            return super().run(*args)


__all__ = ["FakeTensorProp"]
