"""A program of passes over graphs, which prints what they give: PyTorch and the alias run it."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx, nn
from torch._decomp import core_aten_decompositions, get_decompositions, register_decomposition
from torch._dynamo.utils import clone_inputs, detect_fake_mode, dynamo_timed, same
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx._compatibility import compatibility
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from torch.fx.passes.operator_support import (
    OperatorSupport,
    any_chain,
    chain,
    create_op_support,
)
from torch.fx.passes.split_module import split_module
from torch.fx.passes.tools_common import get_node_target, legalize_graph


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.weight, self.bias = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        self.inner = nn.Sequential(nn.Tanh())

    def forward(self, x: Any, y: Any) -> Any:
        z = self.layer(x) + self.weight
        a, b = z.chunk(2, 0)
        w = self.inner(a) * y + self.bias
        return torch.relu(w).sin(), b


def calls(graph: fx.Graph) -> list[str]:
    return [n.name for n in graph.nodes if n.op.startswith("call")]


model = Net()
x, y = torch.rand(2, 3), torch.rand(1, 3)


def traced() -> fx.GraphModule:
    return fx.symbolic_trace(model)


def check(module: Any) -> None:
    for ours, theirs in zip(module(x, y), model(x, y), strict=True):
        torch.testing.assert_close(ours, theirs)


for size in (2, 3, 5, 20):
    order = {n: k for k, n in enumerate(traced().graph.nodes)}
    names: dict[str, str] = {}
    graph_module = traced()
    places = {n: k for k, n in enumerate(graph_module.graph.nodes)}
    whole = split_module(graph_module, model, lambda n: places[n] // size, names)  # noqa: B023
    check(whole)
    print(size, [n.target for n in whole.graph.nodes if n.op == "call_module"])
    print([calls(m.graph) for m in whole.children() if isinstance(m, fx.GraphModule)])
try:
    split_module(traced(), model, lambda n: int(n.name in ("add", "mul")))
except RuntimeError as error:
    print(str(error)[:20])

targets = [get_node_target(dict(model.named_modules()), n)
           for n in traced().graph.nodes if n.op.startswith("call")]  # fmt: skip
print(targets)
supports = {
    "products": create_op_support(lambda _, n: n.name in ("mul", "add_1", "layer", "add")),
    "all": create_op_support(lambda _, n: n.op.startswith("call")),
    "listed": chain(
        create_op_support(lambda _, n: n.op.startswith("call")),
        any_chain(
            OperatorSupport({"torch.nn.modules.activation.Tanh": None, "torch.relu": None}),
            create_op_support(lambda _, n: n.name in ("mul", "sin")),
        ),
    ),
}
for name, support in supports.items():
    for alone in (False, True):
        partitioner = CapabilityBasedPartitioner(traced(), support, alone)
        parts = partitioner.propose_partitions()
        print(name, alone, sorted(sorted(n.name for n in part.nodes) for part in parts))
        fused = partitioner.fuse_partitions(parts)
        check(fused)
        print(sum(n.op == "call_module" and "fused" in n.target for n in fused.graph.nodes))


class Doubling(PassBase):
    def call(self, graph_module: fx.GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.nodes:
            if node.target is torch.relu:
                node.target, changed = torch.tanh, True
        return PassResult(graph_module, changed)


def nothing(module: fx.GraphModule) -> None:
    print("nothing")


doubling = Doubling()
result = PassManager([doubling, doubling], steps=3)(traced())
print(result.modified, "tanh" in result.graph_module.code)
manager = PassManager([doubling], [this_before_that_pass_constraint(doubling, doubling)])
print([type(p).__name__ for p in manager.passes])

prop, mode = traced(), FakeTensorMode(allow_non_fake_inputs=True)
fakes = FakeTensorProp(prop, mode).propagate(x, y)
print([tuple(f.shape) for f in fakes], detect_fake_mode(fakes) is mode, detect_fake_mode([x]))
print([tuple(n.meta["val"].shape) for n in prop.graph.nodes if n.name in ("layer", "weight")])
print(TracingContext.try_get())
copies = clone_inputs([x, 3])
print(same(copies[0], x), copies[0] is x, copies[1])
with dynamo_timed("part"):
    pass


@compatibility(is_backward_compatible=False)
@register_decomposition(torch.ops.aten.sin, {})
def apart() -> None:
    """Nothing."""


print(list(get_decompositions([])), hasattr(core_aten_decompositions(), "items"))
shuffled = traced()
second = next(n for n in shuffled.graph.nodes if n.name == "sin")
first = next(n for n in shuffled.graph.nodes if n.name == "add")
first.prepend(second)
check(legalize_graph(shuffled))
