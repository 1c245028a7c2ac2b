"""Parameters that no gradient reaches: which, and what keeps it from them."""

from __future__ import annotations

import gc
import re
from contextlib import nullcontext

import pytest

import wengert
from wengert import nn
from wengert.autograd import engine
from wengert.graph.unreached import Unreached
from wengert.nn.modules.module import register_module_forward_hook as register


class Net(nn.Module):
    """Two layers, of which the second one is trained; `way` is what is done with the first."""

    def __init__(self, way):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 1)
        self.way = way

    def forward(self, x):
        return self.second(self.way(self, x))


@pytest.fixture
def reasons(alone):
    """Trains a model for some steps; the findings."""
    unreached = Unreached(nn.Module)

    def observe(walk, when):
        if when == "after":
            unreached.after(walk)
            unreached.look(gc.get_objects())

    def train(model, steps=2):
        engine.observers.append(observe)
        hook = nullcontext() if unreached.forwards.ended else register(unreached.forwards)
        try:
            with hook:
                for _ in range(steps):
                    model(wengert.ones(2, 4)).sum().backward()
        finally:
            engine.observers.remove(observe)
        return unreached.findings()

    train.forwards = unreached.forwards
    return train


def told(finding):
    """The finding's text; what its facts say, without files."""
    return finding.text, [(label, re.sub(r"\S+:\d+  ", "", text)) for label, text in finding.facts]


def test_all_are_reached(reasons):
    assert reasons(Net(lambda net, x: net.first(x))) == []


def test_a_module_that_is_never_called(reasons):
    (found,) = reasons(Net(lambda net, x: x))
    assert told(found) == (
        "no gradient reached Net.first (weight, bias), 20 numbers, in 2 backward calls:"
        " its module was never called",
        [],
    )
    assert found.where.endswith("test_unreached.py:23")
    assert found.remedies[0] == "call the module in forward()"


def test_a_module_without_recording(reasons):
    def way(net, x):
        with wengert.no_grad():
            return net.first(x)

    (found,) = reasons(Net(way))
    assert found.text.endswith(": it was computed where recording is off")
    assert told(found)[1] == [("turned off", "no_grad()  at with wengert.no_grad():")]
    assert found.remedies == ("compute it outside of that",)


def test_evaluation_without_recording_is_no_reason(reasons):
    def way(net, x):
        with wengert.no_grad():
            net.first(x)
        net.first(x)
        return x

    (found,) = reasons(Net(way))
    assert found.text.endswith(": no loss depends on what was computed with it")
    assert told(found)[1] == [("called", "Linear()  at net.first(x)")]


def test_a_result_that_is_cut_off(reasons):
    def way(net, x):
        hidden = net.first(x)
        return hidden.detach()

    (found,) = reasons(Net(way))
    assert found.text.endswith(": its values were cut off from the graph")
    assert told(found)[1] == [("cut off by", "detach()  at return hidden.detach()")]
    assert found.remedies == ("use the tensor itself in that line, if gradients are to pass",)


def test_the_result_of_modules_inside_of_others_is_cut_off(reasons):
    class Outer(Net):
        def __init__(self, way):
            super().__init__(way)
            self.first = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4)))

    (found,) = reasons(Outer(lambda net, x: net.first(x).detach()))
    assert "Outer.first.0 (weight, bias), Outer.first.1.1 (weight, bias), 40 numbers" in found.text
    assert told(found)[1][0][1].startswith("detach()  at ")


def test_what_is_computed_of_a_result_is_perhaps_cut_off(reasons):
    def way(net, x):
        return (net.first(x) * 2).argmax(1, keepdim=True) * x

    (found,) = reasons(Net(way))
    assert [label for label, _ in found.facts] == ["called", "perhaps cut by"]
    assert found.facts[1][1].startswith("argmax  at ")


def test_a_parameter_whose_number_is_taken(reasons):
    net = Net(lambda net, x: net.first(x) * net.scale.item())
    net.scale = nn.Parameter(wengert.tensor(2.0))
    (found,) = reasons(net)
    assert found.text == (
        "no gradient reached Net (scale), 1 number, in 2 backward calls:"
        " its values were used without its graph"
    )
    assert found.facts[0][1].startswith("item()  at ")


def test_a_result_that_no_backward_passes(reasons):
    def way(net, x):
        net.kept = net.first(x)
        return x

    (found,) = reasons(Net(way), 1)
    assert found.text.endswith(
        "in 1 backward call: it is used in a graph that no backward has gone through"
    )
    assert found.facts[0][0] == "used by"


def test_frozen_parameters_and_untrained_models_are_none(reasons):
    net = Net(lambda net, x: net.first(x))
    net.first.requires_grad_(False)
    other = nn.Linear(3, 3)
    assert reasons(net) == []
    assert other.weight.grad is None


def test_one_line_with_two_reasons_is_two_findings(reasons):
    def way(net, x):
        with wengert.no_grad():
            return net.both[0](x)

    net = Net(way)
    net.both = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
    net.first.requires_grad_(False)
    assert [found.text.partition(": ")[2] for found in reasons(net)] == [
        "it was computed where recording is off",
        "its module was never called",
    ]


def test_of_modules_that_came_later_nobody_says_that_they_were_never_called(reasons):
    net = Net(lambda net, x: x)
    reasons.forwards.ended = True
    (found,) = reasons(net)
    assert found.text.endswith(": no loss depends on what was computed with it")
    assert found.facts == ()


def test_a_module_that_has_parameters_under_names_of_its_own(reasons):
    class Renamed(Net):
        def named_parameters(self, *args, **kwargs):
            for name, parameter in super().named_parameters(*args, **kwargs):
                yield f"my.{name}", parameter

    (found,) = reasons(Renamed(lambda net, x: x))
    assert "Renamed.my.first (weight, bias)" in found.text
