"""A program of passes over graphs, which prints what they give: PyTorch and the alias run it."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import fx, nn
from torch._decomp import core_aten_decompositions, get_decompositions, register_decomposition
from torch._dynamo.utils import clone_inputs, detect_fake_mode, dynamo_timed, same
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx._compatibility import compatibility
from torch.fx.graph_module import (
    _USER_PRESERVED_ATTRIBUTES_KEY,
    _CodeOnlyModule,
    _copy_attr,
)
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


class Twofold(fx.GraphModule):
    """A graph for training and another one, as torchvision's feature extractors have them."""

    def __init__(self, root: nn.Module, graphs: tuple[Any, Any]) -> None:
        super(fx.GraphModule, self).__init__()
        self.graphs = graphs
        for node in graphs[1].nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, node.target)
        self.graph = graphs[0]

    def train(self, mode: bool = True) -> Any:
        self.graph = self.graphs[not mode]
        return super().train(mode)

    def __deepcopy__(self, memo: Any) -> Any:
        made = type(self).__new__(type(self))
        body = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        made.__init__(body, body.__dict__["graphs"])
        return made


class Switching(nn.Module):
    """What depends on the mode."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Tanh())
        nn.init.ones_(self.part[0].weight)

    def forward(self, x: Any) -> Any:
        return x + 1 if self.training else self.part(x)


switching = Switching()
training = fx.Tracer().trace(switching)
twofold = Twofold(switching, (training, fx.Tracer().trace(switching.eval())))
again = copy.deepcopy(twofold).eval()  # a class of its own: the original goes on with its graph
ones = torch.ones(1, 2)
print(twofold(ones).tolist(), twofold.training, [n for n, _ in twofold.named_parameters()])
print([round(v, 5) for v in again(ones)[0].tolist()], again.training)
layers = [m.get_submodule("part.0") for m in (again, twofold, switching)]
print(layers[0] is layers[1], layers[1] is layers[2])
print(_USER_PRESERVED_ATTRIBUTES_KEY in twofold.__dict__)
print([[m.name for m in n._input_nodes] for n in twofold.graphs[1].nodes])
