"""Summaries of modules: shapes, parameters, operations, saved bytes."""

from __future__ import annotations

import pytest

import wengert
from wengert import nn
from wengert.graph import describe, summary


class Net(nn.Module):
    """Two heads over a trunk, a layer that is called twice, one that is not called."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten()
        )
        self.head, self.other = nn.Linear(64, 3), nn.Linear(64, 2)
        self.drop, self.unused = nn.Dropout(), nn.Linear(5, 5)

    def forward(
        self, x: wengert.Tensor, scale: wengert.Tensor | None = None
    ) -> dict[str, wengert.Tensor]:
        features = self.drop(self.trunk(x))
        return {"a": self.head(features), "b": self.other(self.drop(features))}


IMAGES = wengert.ones(2, 1, 4, 4)


def test_shapes_calls_and_parameters() -> None:
    layers = {layer.path: layer for layer in summary(Net(), IMAGES).layers}
    assert list(layers)[:3] == ["", "trunk", "trunk.0"]
    assert layers[""].outputs == ((2, 3), (2, 2))
    assert layers["trunk.0"].inputs == ((2, 1, 4, 4),)
    assert layers["trunk.0"].outputs == ((2, 4, 4, 4),)
    assert layers["trunk.0"].parameters == 4 * 9 + 4
    assert layers["trunk"].parameters == 40 + 8
    assert (layers["drop"].calls, layers["unused"].calls, layers["unused"].outputs) == (2, 0, ())
    assert [layers[path].depth for path in ("", "trunk", "trunk.0")] == [0, 1, 2]


def test_figures_are_those_of_the_graph() -> None:
    net = Net()
    found = summary(net, IMAGES)
    graph = describe(*net(IMAGES).values())
    assert found.flops == graph.flops
    assert found.saved == graph.nbytes
    linear = next(layer for layer in found.layers if layer.path == "head")
    assert linear.flops is not None
    assert linear.flops.forward == 2 * 2 * 64 * 3 + 0
    assert found.parameters == sum(p.numel() for p in net.parameters()) == found.trainable
    assert found.parameter_bytes == sum(t.nbytes for t in net.state_dict().values())


def test_frozen_layers_save_nothing_and_count() -> None:
    free = summary(Net(), IMAGES)
    frozen = summary(Net().requires_grad_(False), IMAGES)
    assert frozen.saved == 0
    assert frozen.trainable == 0
    assert free.flops is not None
    assert frozen.flops is not None
    assert (frozen.flops.forward, frozen.flops.backward) == (free.flops.forward, 0)


def test_nothing_of_the_program_changes() -> None:
    net = Net()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    state = wengert.get_rng_state()
    with wengert.no_grad():
        assert summary(net, IMAGES).saved
    assert wengert.equal(wengert.get_rng_state(), state)
    assert all(wengert.equal(v, before[name]) for name, v in net.state_dict().items())
    assert not net._forward_hooks
    assert IMAGES.requires_grad is False


def test_on_the_meta_device() -> None:
    with wengert.device("meta"):
        net, images = Net(), wengert.zeros(2, 1, 4, 4)
    found = summary(net, images)
    assert found.layers[0].outputs == ((2, 3), (2, 2))
    assert (found.flops, found.saved) == (None, None)
    assert found.parameters == summary(Net()).parameters


def test_integers_and_keywords() -> None:
    net = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2))
    found = summary(net.requires_grad_(False), wengert.zeros(3, dtype=wengert.int64))
    assert found.flops is not None
    assert found.flops.forward >= 2 * 3 * 4 * 2
    assert summary(Net(), IMAGES, scale=IMAGES).layers[0].inputs == ((2, 1, 4, 4), (2, 1, 4, 4))


def test_printed() -> None:
    lines = str(summary(Net(), IMAGES)).splitlines()
    assert lines[0].split() == ["layer", "input", "output", "parameters", "FLOP", "saved"]
    assert any(line.startswith("    2: ReLU") for line in lines)
    assert any("drop: Dropout x2" in line for line in lines)
    assert "forward" in lines[-1]
    assert "kept for backward" in lines[-1]
    assert "forward" not in str(summary(Net()))


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(TypeError, match="expected model to be a Module, but got function"):
        summary(lambda x: x, IMAGES)
