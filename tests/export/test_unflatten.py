"""wengert.export.unflatten: the modules of a program as they were, with the state that they had."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.export import Dim, UnflattenedModule, export, unflatten

# PyTorch's own use of its pytree.
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


def net_of(lib: Any, **options: Any) -> Any:
    """A module with a list, a shared block, a tied weight, and buffers of all kinds."""
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

        def forward(self, x: Any) -> Any:
            return self.norm(self.layer(x).relu())

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])
            self.shared, self.unused = Block(), nn.Linear(2, 2)
            self.head, self.tied = nn.Linear(4, 4), nn.Linear(4, 4)
            self.tied.weight = self.head.weight
            self.norm = nn.BatchNorm1d(4)
            self.register_buffer("shift", lib.ones(4))
            self.register_buffer("scale", lib.full((4,), 2.0), persistent=False)

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            x = self.shared(self.shared(x) * self.scale) + self.shift
            return {"y": self.norm(self.head(x)), "z": self.tied(x)}

    return Net().eval()


@pytest.fixture
def net() -> Any:
    wengert.manual_seed(0)
    return net_of(wengert)


@pytest.mark.torch
def test_modules_and_state_are_pytorchs(torch: Any) -> None:
    ours, theirs = (
        lib.export.unflatten(lib.export.export(net_of(lib), (lib.ones(3, 4),)))
        for lib in (wengert, torch)
    )
    assert isinstance(ours, UnflattenedModule)
    for names in ("named_modules", "named_parameters", "named_buffers"):
        assert {n for n, _ in getattr(ours, names)()} == {n for n, _ in getattr(theirs, names)()}
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    calls = [[n.target for n in m.graph.nodes if n.op == "call_module"] for m in (ours, theirs)]
    assert sorted(calls[0]) == sorted(calls[1])
    assert [n.op for n in ours.shared.graph.nodes] == [n.op for n in theirs.shared.graph.nodes]


@pytest.mark.torch
def test_other_sizes_are_refused_as_by_pytorch(torch: Any) -> None:
    for lib in (wengert, torch):
        module = lib.export.unflatten(lib.export.export(lib.nn.Linear(3, 2), (lib.ones(2, 3),)))
        with pytest.raises(RuntimeError, match=r"shape\[0\]|size\(\)\[0\]"):
            module(lib.ones(5, 3))


def test_values_and_gradients_are_those_of_the_module(net: Any) -> None:
    x = wengert.randn(3, 4)
    module = unflatten(export(net, (x,)))
    ours, expected = module(x), net(x)
    for key in ("y", "z"):
        np.testing.assert_array_equal(ours[key].detach(), expected[key].detach())
    wanted = [p for n, p in net.named_parameters() if not n.startswith("unused")]
    made = dict(module.named_parameters())
    expected_grads = wengert.autograd.grad(sum(v.sum() for v in expected.values()), wanted)
    got = wengert.autograd.grad(
        sum(v.sum() for v in ours.values()),
        [made[n] for n, _ in net.named_parameters() if not n.startswith("unused")],
    )
    for a, b in zip(got, expected_grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_a_submodule_can_be_replaced(net: Any) -> None:
    x = wengert.randn(3, 4)
    module = unflatten(export(net, (x,)))
    module.shared = net.shared = wengert.nn.Linear(4, 4)
    np.testing.assert_array_equal(module(x)["z"].detach(), net(x)["z"].detach())


def test_calls_that_compute_something_else_are_submodules_of_their_own() -> None:
    class Part(wengert.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = wengert.nn.Linear(2, 2)

        def forward(self, x: Any, twice: bool) -> Any:
            return self.layer(self.layer(x)) if twice else self.layer(x)

    class Net(wengert.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Part()

        def forward(self, x: Any) -> Any:
            return self.part(x, False) + self.part(x, True) + self.part(x, False)

    net, x = Net(), wengert.randn(3, 2)
    module = unflatten(export(net, (x,)))
    assert [n.target for n in module.graph.nodes if n.op == "call_module"] == [
        "part",
        "part@1",
        "part",
    ]
    assert getattr(module, "part@1").layer.weight is module.part.layer.weight
    np.testing.assert_array_equal(module(x).detach(), net(x).detach())


def test_several_tensors_between_modules() -> None:
    class Two(wengert.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y, x * y

    class Net(wengert.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.two = Two()

        def forward(self, x: Any) -> Any:
            a, b = self.two(x, x + 1)
            return a - self.two(a, b)[1]

    net, x = Net(), wengert.randn(3)
    module = unflatten(export(net, (x,)))
    np.testing.assert_array_equal(module(x), net(x))


def test_modules_that_are_not_submodules_are_part_of_their_callers() -> None:
    hidden = [wengert.nn.Sequential(wengert.nn.Linear(2, 2))]

    class Net(wengert.nn.Module):
        def forward(self, x: Any) -> Any:
            return hidden[0](x)

    x = wengert.randn(3, 2)
    module = unflatten(export(Net(), (x,)))
    assert [n for n, _ in module.named_modules()] == [""]
    np.testing.assert_array_equal(module(x), hidden[0](x).detach())


def test_dynamic_sizes_and_files_keep_the_modules(net: Any) -> None:
    x = wengert.randn(3, 4)
    program = export(net, (x,), dynamic_shapes={"x": {0: Dim("batch")}})
    file = io.BytesIO()
    wengert.export.save(program, file)
    file.seek(0)
    module = unflatten(wengert.export.load(file))
    assert [n for n, _ in module.named_modules()] == [
        n for n, _ in unflatten(program).named_modules()
    ]
    x = wengert.randn(7, 4)
    np.testing.assert_array_equal(module(x)["y"].detach(), net(x)["y"].detach())


def test_programs_keep_state_that_nothing_reads(net: Any) -> None:
    module = export(net, (wengert.randn(3, 4),)).module()
    assert {"unused.weight", "norm.num_batches_tracked"} <= module.state_dict().keys()
    assert "scale" not in module.state_dict()
    assert "scale" in dict(module.named_buffers())


def test_adapters_are_refused() -> None:
    program = export(wengert.nn.ReLU(), (wengert.ones(2),))
    with pytest.raises(NotImplementedError, match="flat_args_adapter is not supported"):
        unflatten(program, flat_args_adapter=object())
