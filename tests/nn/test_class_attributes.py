"""Operations as attributes of module classes, and the annotations of modules."""

from __future__ import annotations

import math
import typing
from typing import Any

import numpy as np
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


def subclass(library: Any, base: str, way: str) -> Any:
    """A layer whose class gives four times its weight."""
    kind = getattr(library.nn, base)
    if way == "property":

        class Own(kind):  # type: ignore[misc, valid-type]
            @property
            def weight(self) -> Any:
                return self._parameters["weight"] * 4

        return Own

    def find(self: Any, name: str) -> Any:
        found = getattr(kind, way)(self, name)
        return found * 4 if name == "weight" else found

    return type("Own", (kind,), {way: find})


@pytest.mark.torch
@pytest.mark.parametrize("way", ["property", "__getattr__", "__getattribute__"])
@pytest.mark.parametrize(
    ("base", "sizes", "shape"),
    [
        ("Linear", (3, 3), (2, 3)),
        ("Conv1d", (3, 3, 1), (2, 3, 4)),
        ("LayerNorm", (3,), (2, 3)),
        ("BatchNorm1d", (3,), (2, 3)),
        ("GroupNorm", (1, 3), (2, 3)),
        ("RMSNorm", (3,), (2, 3)),
    ],
)
def test_a_class_may_give_another_weight(
    torch: Any, way: str, base: str, sizes: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    found = []
    for library in (wengert, torch):
        layer = getattr(library.nn, base)(*sizes)
        with library.no_grad():
            for p in layer.parameters():
                p.copy_(library.linspace(-1, 1, p.numel()).reshape(p.shape))
        layer.__class__ = subclass(library, base, way)
        x = library.linspace(-2, 3, 24)[: math.prod(shape)].reshape(shape) ** 2
        y = layer(x)
        y.square().sum().backward()
        found.append([y.detach().numpy(), *[p.grad.numpy() for p in layer.parameters()]])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
