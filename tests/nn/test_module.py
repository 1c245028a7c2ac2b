"""Module: registration, walks, modes, conversion, repr, and where operations ran."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree
from wengert import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(2, 3), nn.Tanh(), nn.Sequential(nn.Linear(3, 3)), nn.Linear(3, 3)
        )
        self.head = nn.Linear(3, 1)
        self.scale = nn.Parameter(wengert.ones(1))
        self.register_buffer("seen", wengert.zeros(1))

    def forward(self, x: Any) -> Any:
        return self.head(self.features(x)) * self.scale


NAMES = [
    "scale", "features.0.weight", "features.0.bias", "features.2.0.weight", "features.2.0.bias",
    "features.3.weight", "features.3.bias", "head.weight", "head.bias",
]  # fmt: skip


def test_walks_name_everything_in_order() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert [n for n, _ in net.named_parameters("net")] == [f"net.{n}" for n in NAMES]
    assert [n for n, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [n for n, _ in net.named_buffers()] == ["seen"]
    assert [n for n, _ in net.named_children()] == ["features", "head"]
    assert [n for n, _ in net.named_modules()] == [
        "", "features", "features.0", "features.1", "features.2", "features.2.0", "features.3",
        "head",
    ]  # fmt: skip
    assert len(list(net.modules())) == 8


def test_what_is_shared_comes_once() -> None:
    net = Net()
    net.twin = net.head
    net.tied = net.scale
    assert [n for n, _ in net.named_parameters()] == NAMES
    with_twins = [n for n, _ in net.named_parameters(remove_duplicate=False)]
    assert set(with_twins) - set(NAMES) == {"tied", "twin.weight", "twin.bias"}
    assert [n for n, _ in net.named_children()] == ["features", "head"]


def test_look_up_by_path() -> None:
    net = Net()
    assert net.get_submodule("features.2.0") is net.features[2][0]
    assert net.get_submodule("") is net
    assert net.get_parameter("head.bias") is net.head.bias
    assert net.get_buffer("seen") is net.seen
    for call, message in (
        (lambda: net.get_submodule("features.9"), "has no attribute `9`"),
        (lambda: net.get_submodule("scale"), "`scale` is not an nn.Module"),
        (lambda: net.get_parameter("head.x"), "has no attribute `x`"),
        (lambda: net.get_parameter("seen"), "`seen` is not an nn.Parameter"),
        (lambda: net.get_buffer("scale"), "`scale` is not a buffer"),
    ):
        with pytest.raises(AttributeError, match=message):
            call()
    net.set_submodule("features.1", nn.ReLU())
    assert isinstance(net.features[1], nn.ReLU)


def test_assignment_moves_a_name_between_tables() -> None:
    m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(wengert.ones(1))
    assert "x" in m._parameters
    assert "x" not in m.__dict__
    m.x = None
    assert m._parameters == {"x": None}
    assert list(m.parameters()) == []
    m.x = nn.ReLU()
    assert list(m._modules) == ["x"]
    assert m._parameters == {}
    del m.x
    m.x = nn.Buffer(wengert.ones(1), persistent=False)
    assert list(m._buffers) == ["x"]
    assert m._modules == {}
    assert list(m.state_dict()) == []
    m.x = wengert.zeros(2)  # a plain tensor replaces the value of a buffer
    assert m._buffers["x"].shape == (2,)
    del m.x
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'x'"):
        _ = m.x


def unready(statement: str) -> Any:
    class Unready(nn.Module):
        def __init__(self) -> None:
            exec(statement, {"self": self, "nn": nn, "wengert": wengert})

    return Unready


@pytest.mark.torch
@pytest.mark.parametrize(
    "statement",
    [
        "self.a = nn.ReLU()",
        "self.a = nn.Parameter(wengert.zeros(1))",
        "self.register_buffer('a', wengert.zeros(1))",
        "self.register_parameter('a', None)",
    ],
)
def test_registration_before_init(statement: str, torch: Any) -> None:
    class Reference(torch.nn.Module):
        def __init__(self) -> None:
            exec(statement, {"self": self, "nn": torch.nn, "wengert": torch})

    with pytest.raises(AttributeError) as theirs:
        Reference()
    with pytest.raises(AttributeError) as ours:
        unready(statement)()
    assert str(ours.value) == str(theirs.value)


BAD = [
    "m.weight = 3",
    "m.weight = torch.zeros(1)",
    "m.child = 3",
    "m.buffer = 3",
    "m.register_parameter('a.b', None)",
    "m.register_parameter('', None)",
    "m.register_parameter(3, None)",
    "m.register_parameter('training', None)",
    "m.register_parameter('a', torch.zeros(1))",
    "m.register_buffer('a.b', None)",
    "m.register_buffer('', None)",
    "m.register_buffer(3, None)",
    "m.register_buffer('forward', None)",
    "m.register_buffer('a', 3)",
    "m.add_module('a', 3)",
    "m.add_module(3, nn.ReLU())",
    "m.add_module('training', nn.ReLU())",
    "m.add_module('a.b', nn.ReLU())",
    "m.add_module('', nn.ReLU())",
    "m.nothing",
    "m()",
    "m.train(3)",
    "m.to(torch.int64)",
    "nn.Module(3)",
    "nn.Module(x=3)",
    "nn.Parameter([1.0])",
    "nn.Parameter(torch.zeros(2, dtype=torch.int64))",
]


@pytest.mark.torch
@pytest.mark.parametrize("statement", BAD)
def test_errors_are_pytorchs(statement: str, torch: Any) -> None:
    messages = []
    for library in (torch, wengert):
        m = library.nn.Module()
        m.weight = library.nn.Parameter(library.zeros(1))
        m.child = library.nn.ReLU()
        m.register_buffer("buffer", library.zeros(1))
        with pytest.raises((AttributeError, KeyError, TypeError, ValueError, RuntimeError,
                            NotImplementedError)) as caught:  # fmt: skip
            exec(statement, {"m": m, "nn": library.nn, "torch": library})
        messages.append((type(caught.value), str(caught.value)))
    (their_type, theirs), (our_type, ours) = messages
    assert our_type is their_type
    words = theirs.strip("'\"").split()
    if "Parameter(" not in statement:  # ours says more there
        assert ours.strip("'\"").split()[: len(words) - 2] == words[:-2]


def test_a_non_leaf_is_no_parameter() -> None:
    m, p = nn.Module(), nn.Parameter(wengert.ones(1))
    p._edge = (wengert.ones(1, requires_grad=True) * 2)._edge
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'w'"):
        m.w = p


def test_training_flag_and_apply_reach_everything() -> None:
    net = Net().eval()
    assert not any(m.training for m in net.modules())
    assert net.train() is net
    assert all(m.training for m in net.modules())
    visited: list[Any] = []
    assert net.apply(visited.append) is net
    assert visited[0] is net.features[0]
    assert visited[-1] is net
    assert len(visited) == 8


def test_requires_grad_and_zero_grad() -> None:
    net = Net()
    net(wengert.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(float(p.grad.abs().sum()) == 0 for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.features.requires_grad_(False)
    assert [n for n, p in net.named_parameters() if p.requires_grad] == [
        "scale", "head.weight", "head.bias",
    ]  # fmt: skip


@pytest.mark.torch
def test_memory_formats(torch: Any) -> None:
    def strides(lib: Any) -> Any:
        net = lib.nn.Sequential(lib.nn.Conv2d(3, 4, 2), lib.nn.BatchNorm2d(4), lib.nn.Linear(2, 2))
        volumes = lib.nn.Conv3d(3, 4, 2).to(memory_format=lib.channels_last_3d)
        net.to(lib.float64, memory_format=lib.channels_last).float()
        net[0](lib.ones(2, 3, 4, 4)).sum().backward()
        last = net[0].weight.stride(), net[0].weight.grad.stride()
        copied = copy.deepcopy(net)
        net.to(memory_format=lib.contiguous_format)
        return [last, volumes.weight.stride()], [
            [p.stride() for p in module.parameters()] for module in (net, copied)
        ]

    assert strides(wengert) == strides(torch)
    for lib in (wengert, torch):
        with pytest.raises(TypeError):
            lib.nn.Linear(2, 2).to(memory_format="channels_last")
        with pytest.raises(RuntimeError, match="required rank 4"):
            lib.nn.Conv3d(3, 4, 2).to(memory_format=lib.channels_last)


def test_conversion_keeps_parameters_and_converts_gradients() -> None:
    net = Net()
    net.register_buffer("count", wengert.tensor([1]))
    parameters = list(net.parameters())
    net(wengert.ones(1, 2)).sum().backward()
    assert net.double() is net
    assert [a is b for a, b in zip(net.parameters(), parameters, strict=True)] == [True] * 9
    assert {str(p.dtype) for p in parameters} == {"torch.float64"}
    assert {str(p.grad.dtype) for p in parameters} == {"torch.float64"}
    assert str(net.seen.dtype) == "torch.float64"
    assert str(net.count.dtype) == "torch.int64"
    assert net(wengert.ones(1, 2, dtype=wengert.float64)).dtype is wengert.float64
    for convert, dtype in (
        (net.half, "float16"), (net.bfloat16, "bfloat16"), (net.float, "float32"),
        (lambda: net.to(wengert.float64), "float64"),
        (lambda: net.to("cpu", wengert.float32), "float32"),
        (lambda: net.to(wengert.zeros(1, dtype=wengert.float64)), "float64"),
        (lambda: net.to(dtype=wengert.float16), "float16"),
    ):  # fmt: skip
        convert()
        assert str(net.scale.dtype) == f"torch.{dtype}"
        assert str(net.count.dtype) == "torch.int64"
    assert net.cpu() is net
    assert str(net.type(wengert.float32).count.dtype) == "torch.float32"
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        net.to("cuda")


def test_deepcopy_and_pickle_are_apart_from_the_original() -> None:
    net = Net()
    net.tied = net.head.weight
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.tied is twin.head.weight
        assert twin.tied is not net.tied
        assert type(twin.tied) is nn.Parameter
        assert twin.tied.requires_grad
        with wengert.no_grad():
            twin.scale.fill_(5)
        assert float(net.scale) == 1
        assert repr(twin) == repr(net)
        assert [n for n, _ in twin.named_parameters()] == [n for n, _ in net.named_parameters()]


@pytest.mark.torch
def test_a_replica_has_members_of_its_own_and_no_parameters(torch: Any) -> None:
    def scenario(library: Any) -> list[Any]:
        net = library.nn.Sequential(library.nn.BatchNorm1d(3), library.nn.Linear(3, 2))
        norm, whole = net[0], net._replicate_for_data_parallel()
        replica = norm._replicate_for_data_parallel()
        empty = list(replica.named_parameters())
        replica.weight, replica.bias = norm.weight * 2, norm.bias
        whole[1] = library.nn.Linear(3, 5)
        return [
            empty, list(replica._buffers), replica.running_mean is norm.running_mean,
            replica._buffers is norm._buffers, replica._is_replica, hasattr(norm, "_is_replica"),
            [n for n, _ in replica.named_parameters()], net[1].out_features, whole[0] is norm,
            replica(library.arange(6.0).reshape(2, 3)),
        ]  # fmt: skip

    agree(torch, scenario)


def test_parameter_shares_memory_and_prints_as_one() -> None:
    data = wengert.zeros(2)
    p = nn.Parameter(data)
    data[0] = 1.0
    assert p.tolist() == [1, 0]
    assert p.is_leaf
    assert p.requires_grad
    assert repr(p) == "Parameter containing:\ntensor([1., 0.], requires_grad=True)"
    assert type(p * 2) is wengert.Tensor
    frozen = copy.deepcopy(nn.Parameter(data, requires_grad=False))
    assert not frozen.requires_grad
    assert nn.Parameter().shape == (0,)


def test_dir_lists_members() -> None:
    names = dir(Net())
    assert {"features", "head", "scale", "seen", "forward", "training"} <= set(names)
    assert not any(n.isdigit() for n in dir(Net().features))


@pytest.mark.torch
def test_repr_nests_and_shows_extra_lines(torch: Any) -> None:
    def build(library: Any) -> Any:
        class Odd(library.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = library.nn.Sequential(library.nn.ReLU())
                self.none = None
                self.add_module("missing", None)

            def extra_repr(self) -> str:
                return "one,\ntwo"

        return Odd()

    assert repr(build(wengert)) == repr(build(torch))


# Provenance


def test_operations_know_their_module() -> None:
    net = Net()
    first = net.features[:1]
    h = first(wengert.ones(1, 2))
    assert h.grad_fn.site.path() == "Sequential.0"
    paths = []
    net.features[3].register_forward_hook(lambda m, a, out: paths.append(out.grad_fn.site.path()))
    y = net(wengert.ones(1, 2))
    assert paths == ["Net.features.3"]
    assert y.grad_fn.site.path() == "Net"
    assert (y * 2).grad_fn.site.path() == ""


class Switching(nn.Module):
    """Runs `act` inside its forward."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self.act = act
        self.w = nn.Parameter(wengert.ones(1))

    def forward(self, x: Any) -> Any:
        self.act()
        return x * self.w


def test_no_grad_inside_forward_ends_there() -> None:
    def act() -> None:
        with wengert.no_grad():
            assert not (net.w * 2).requires_grad

    net = Switching(act)
    y = net(wengert.ones(1))
    assert y.grad_fn.site.path() == "Switching"
    assert (net.w * 2).grad_fn.site.path() == ""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_set_grad_enabled_inside_forward_outlives_it(before: bool, inside: bool) -> None:
    net = Switching(lambda: wengert.set_grad_enabled(inside))
    with wengert.set_grad_enabled(before):
        y = net(wengert.ones(1))
        assert y.requires_grad is inside
        assert wengert.is_grad_enabled() is inside
        if inside:
            assert (net.w * 2).grad_fn.site.path() == ""
    assert wengert.is_grad_enabled()
    assert (net.w * 2).grad_fn.site.path() == ""


def test_a_module_under_no_grad_records_nothing_and_restores_the_site() -> None:
    net = Net()
    with wengert.no_grad():
        assert not net(wengert.ones(1, 2)).requires_grad
    assert net(wengert.ones(1, 2)).grad_fn.site.path() == "Net"


def test_an_exception_in_forward_restores_the_site() -> None:
    def act() -> None:
        raise KeyError("x")

    net = Switching(act)
    with pytest.raises(KeyError):
        net(wengert.ones(1))
    assert (net.w * 2).grad_fn.site.path() == ""


def test_modules_are_freed_without_the_garbage_collector() -> None:
    gc.disable()
    try:
        net = Net()
        reference = weakref.ref(net)
        y = net(wengert.ones(1, 2))
        del net
        assert reference() is None
        assert np.isfinite(y.item())
    finally:
        gc.enable()


def test_attributes_of_its_own_do_not_pass_through_a_subclass() -> None:
    """Keras tracks what is assigned, and assigns before `__init__`."""
    assigned = []

    class Tracking(nn.Module):
        def __new__(cls) -> Tracking:
            module = super().__new__(cls)
            module.early = [1]
            return module

        def __setattr__(self, name: str, value: Any) -> None:
            assigned.append(name)
            super().__setattr__(name, value)

    module = Tracking()
    copy.deepcopy(module)
    assert assigned == ["early", "early"]  # the second: that of the copy's `__new__`
    assert module.early == [1]
    assert module.training
