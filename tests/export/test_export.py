"""wengert.export: programs, their signatures, and sizes that follow the inputs."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

import wengert as w
import wengert.compiler
import wengert.nn.functional as F
from wengert import nn
from wengert.autograd.transforms.tree import registry
from wengert.export import Dim, export
from wengert.fx.experimental.sizes import SizeError
from wengert.replay.failures import UserError
from wengert.utils._pytree import register_pytree_node


class Net(nn.Module):
    def __init__(self, torch: Any = w) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: Any, state: Any) -> Any:
        return {"y": self.norm(self.layer(x)) + self.shift + state[0], "state": state[1]}


def example(torch: Any = w) -> tuple[Any, ...]:
    return torch.ones(4, 3), (torch.ones(2), torch.ones(2))


def dynamic(torch: Any = w) -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch")}, "state": (None, None)}


@pytest.mark.torch
def test_signature_is_pytorchs(torch: Any) -> None:
    class Theirs(torch.nn.Module):
        __init__ = Net.__init__
        forward = Net.forward

    def init(self: Any) -> None:
        torch.nn.Module.__init__(self)
        self.layer = torch.nn.Linear(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.register_buffer("shift", torch.ones(2))

    Theirs.__init__ = init
    own = export(Net(), example(), dynamic_shapes=dynamic()).graph_signature
    other = torch.export.export(
        Theirs(), example(torch), dynamic_shapes=dynamic(torch)
    ).graph_signature

    def described(signature: Any) -> list[Any]:
        return [(s.kind.name, s.arg.name, s.target, s.persistent) for s in signature.input_specs]

    key = [row[1] for row in described(other)]
    assert sorted(described(own), key=lambda row: key.index(row[1])) == described(other)
    assert own.user_inputs == other.user_inputs
    assert own.inputs_to_parameters == other.inputs_to_parameters
    assert own.inputs_to_buffers == other.inputs_to_buffers
    assert [s.kind.name for s in own.output_specs] == [s.kind.name for s in other.output_specs]


def test_program_computes_what_the_module_does() -> None:
    net = Net()
    twin = copy.deepcopy(net)
    program = export(net, example(), dynamic_shapes=dynamic()).module()
    x, state = w.randn(5, 3), (w.randn(2), w.randn(2))
    own, expected = program(x, state), twin(x, state)
    assert list(own) == ["y", "state"]
    assert w.equal(own["y"], expected["y"])
    assert w.equal(own["state"], expected["state"])
    assert w.equal(net.norm.running_mean, twin.norm.running_mean)
    assert net.norm.num_batches_tracked == 1


def test_recording_leaves_the_module_alone() -> None:
    net = Net()
    before = copy.deepcopy(net.state_dict())
    x = w.ones(4, 3)
    export(net, (x, (w.ones(2), w.ones(2))), dynamic_shapes=dynamic())
    assert all(w.equal(v, before[k]) for k, v in net.state_dict().items())
    assert w.equal(x, w.ones(4, 3))


def test_gradients_reach_the_parameters() -> None:
    layer = nn.Linear(3, 1)
    program = export(layer, (w.ones(2, 3),))
    program.module()(w.ones(2, 3)).sum().backward()
    assert layer.weight.grad is not None
    assert dict(program.named_parameters())["weight"] is layer.weight


def test_direct_call_is_refused() -> None:
    program = export(nn.ReLU(), (w.ones(2),))
    with pytest.raises(RuntimeError, match=r"You should use `exported_program.module\(\)`"):
        program(w.ones(2))


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((w.ones(4, 4), (w.ones(2), w.ones(2))), AssertionError),
        ((w.ones(4, 3).double(), (w.ones(2), w.ones(2))), AssertionError),
        ((w.ones(4, 3),), ValueError),
    ],
)
def test_other_inputs_are_refused(args: Any, error: Any) -> None:
    with pytest.raises(error):
        export(Net().eval(), example(), dynamic_shapes=dynamic()).module()(*args)


def test_bounds_of_a_dimension() -> None:
    shapes = {"input": {0: Dim("n", min=2, max=8)}}
    module = export(nn.ReLU(), (w.ones(4),), dynamic_shapes=shapes).module()
    assert module(w.ones(8)).shape == (8,)
    with pytest.raises(AssertionError, match="between 2 and 8"):
        module(w.ones(9))
    with pytest.raises(UserError, match="does not allow"):
        export(nn.ReLU(), (w.ones(9),), dynamic_shapes=shapes)


class Sizes(nn.Module):
    """Sizes in all the ways in which programs use them."""

    def forward(self, x: Any) -> Any:
        b, t = x.shape
        mask = w.triu(w.full((t, t), float("-inf")), diagonal=1)
        scores = (x[:, :, None] * x[:, None, :] + mask).softmax(-1)
        flat = scores.reshape(b * t, t)
        half = F.max_pool1d(x[:, None], 3, stride=2, padding=1)
        return (
            flat.sum(1) / t + w.arange(b * t),
            half.view(b, -1).mean(1),
            x.expand(3, b, t).flatten(0, 1),
            x[:, : t // 1].cumsum(1) * (b + 2 * t),
            x.view(-1),
        )


@pytest.mark.parametrize("shape", [(2, 5), (1, 1), (3, 8), (7, 2), (4, 33)])
def test_sizes_follow_the_input(shape: tuple[int, int]) -> None:
    dims = {"x": {0: Dim.AUTO, 1: Dim("t", max=64)}}
    program = export(Sizes(), (w.randn(2, 5),), dynamic_shapes=dims).module()
    x = w.randn(shape)
    for own, expected in zip(program(x), Sizes()(x), strict=True):
        assert w.equal(own, expected)


class Steps(nn.Module):
    def forward(self, x: Any) -> Any:
        for k in range(x.shape[0]):
            x = x + k
        return x


class Branch(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.exp() if x.shape[0] % 2 else x.sin()


class Threshold(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.exp() if x.shape[0] > 100 else x.sin()


def test_programs_are_recorded_at_their_bounds() -> None:
    x = w.ones(3)
    export(Threshold(), (x,), dynamic_shapes=({0: Dim("n", max=100)},))
    with pytest.raises(SizeError, match=r"another way at the sizes .'n': 101."):
        export(Threshold(), (x,), dynamic_shapes=({0: Dim("n", max=101)},))


class Table(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + w.arange(x.shape[0]).sin()


@pytest.mark.parametrize(
    ("module", "why"),
    [(Steps(), "how often"), (Branch(), "another way"), (Table(), "changes with a dynamic size")],
)
def test_what_is_not_understood_is_refused_with_its_line(module: Any, why: str) -> None:
    x = w.ones(3)
    export(module, (x,))
    with pytest.raises(SizeError, match=r"test_export\.py.*line") as caught:
        export(module, (x,), dynamic_shapes=({0: Dim("n")},))
    assert why in str(caught.value)


def test_sizes_that_do_not_run_are_refused() -> None:
    with pytest.raises(SizeError, match="runs for its size in the example, 3, and for no other"):
        export(nn.Linear(3, 2), (w.ones(3),), dynamic_shapes={"input": {0: Dim("n")}})


@pytest.mark.parametrize(
    ("shapes", "error"),
    [
        ({"other": None}, UserError),
        ((None, None), UserError),
        (3, TypeError),
        ({"input": {2: Dim("n")}}, UserError),
        ({"input": {0: 1.5}}, UserError),
        ({"input": {0: 7}}, UserError),
    ],
)
def test_bad_dynamic_shapes(shapes: Any, error: Any) -> None:
    with pytest.raises(error):
        export(nn.ReLU(), (w.ones(2),), dynamic_shapes=shapes)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="Expected `mod`"):
        export(w.exp, (w.ones(2),))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="tuple"):
        export(nn.ReLU(), w.ones(2))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="identifier"):
        Dim("not a name")
    with pytest.raises(AssertionError, match="inconsistent"):
        Dim("n", min=3, max=2)


@pytest.mark.torch
def test_code_may_ask_whether_it_is_exported(torch: Any) -> None:
    def told(t: Any) -> list[Any]:
        found = []

        class Asking(t.nn.Module):
            def forward(self, x: Any) -> Any:
                c = t.compiler
                found.append([c.is_compiling(), c.is_exporting(), c.is_dynamo_compiling()])
                return x + 1 if c.is_exporting() else x + x.sum().item()

        asking, x = Asking(), t.ones(2)
        asking(x)
        found.append(t.export.export(asking, (x,)).module()(x).tolist())
        asking(x)
        return found

    assert told(w) == told(torch)


def test_a_program_has_the_mode_that_it_was_exported_in() -> None:
    program = export(nn.Dropout(), (w.ones(2),))
    for change in ("train", "eval"):
        with pytest.raises(NotImplementedError, match=f"{change}\\(\\) is not supported"):
            getattr(program.module(), change)()
    assert not w.export.unflatten(program).eval().training


def test_parameters_that_have_two_paths_or_that_nothing_reads_are_named() -> None:
    module = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2), "other": nn.Linear(2, 1)})
    module["b"].weight = module["a"].weight
    module.register_buffer("count", w.zeros(1))
    module.forward = lambda x: module["b"](module["a"](x))  # type: ignore[method-assign]
    program = export(module, (w.ones(1, 2),))
    program.validate()
    paths = [name for name, _ in program.named_parameters()]
    assert paths == [f"{m}.{n}" for m in ("a", "b", "other") for n in ("weight", "bias")]
    assert [name for name, _ in program.named_buffers()] == ["count"]
    assert program.call_spec == (program.in_spec, program.out_spec)
    signature = program.graph_signature
    assert signature.user_inputs_to_mutate == signature.parameters_to_mutate == {}
    assert program.tensor_constants == {}


def test_arguments_may_be_of_registered_classes(registered_pair: Any) -> None:
    class Product(nn.Module):
        def forward(self, pair: Any) -> Any:
            return registered_pair(pair.first * pair.second, None)

    pair = registered_pair(w.ones(2), w.ones(2))
    shapes = {"pair": [{0: Dim("n")}, {0: Dim("n")}]}
    program = export(Product(), (pair,), dynamic_shapes=shapes)
    assert program.graph_signature.user_inputs == ("pair_0", "pair_1")
    result = program.module()(registered_pair(w.full((3,), 2.0), w.ones(3)))
    assert result.first.tolist() == [2, 2, 2]
    assert result.second is None


@pytest.fixture
def registered_pair() -> Any:
    @dataclasses.dataclass
    class Pair:
        first: Any
        second: Any

    register_pytree_node(Pair, lambda p: ([p.first, p.second], None), lambda v, _: Pair(*v))
    yield Pair
    registry.pop(Pair)
