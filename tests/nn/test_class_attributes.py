"""Operations as attributes of module classes, and the annotations of modules."""

from __future__ import annotations

import typing
from typing import Any

import pytest

import wengert
from wengert import nn


def activated(library: Any) -> list[Any]:
    """Modules whose classes hold a function of `torch`, which PyTorch does not bind."""

    class Plain(library.nn.Module):  # type: ignore[name-defined, misc]
        act = library.tanh

        def forward(self, x: Any) -> Any:
            return self.act(x)

    class Below(Plain):
        act = library.exp

    x = library.tensor([0.5])
    return [Plain()(x).item(), Below()(x).item(), Plain.act(x).item()]


@pytest.mark.torch
def test_functions_do_not_bind(torch: Any) -> None:
    assert activated(wengert) == pytest.approx(activated(torch))


def test_they_stay_the_functions() -> None:
    class Net(nn.Module):
        act = nn.functional.relu  # a function that would bind in PyTorch
        forward = nn.Linear.forward  # a method

        def own(self) -> int:
            return 1

    assert Net.act is nn.functional.relu
    assert Net().act is nn.functional.relu
    assert Net().own() == 1
    assert Net().forward.__func__ is nn.Linear.forward  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["Module", "Linear", "Conv2d", "LSTM", "Sequential", "BatchNorm2d"]
)
def test_annotations_can_be_evaluated(name: str) -> None:
    layer = getattr(nn, name)
    assert "training" in typing.get_type_hints(layer)
    assert "return" in typing.get_type_hints(layer.forward)
    assert "return" in typing.get_type_hints(layer.__init__)
