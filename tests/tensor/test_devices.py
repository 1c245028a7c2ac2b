"""Devices that are not there: what tensors and modules say when moved to them, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import nn


@pytest.mark.torch
@pytest.mark.parametrize("name", ["xpu", "mtia", "ipu"])
def test_as_in_a_pytorch_without_them(torch: Any, name: str) -> None:
    for lib in (torch, wengert):
        error = RuntimeError if name == "ipu" else AssertionError
        with pytest.raises(error, match=r"(?i)not (compiled|linked)"):
            getattr(lib.ones(2), name)()
        with pytest.raises(error, match=r"(?i)not (compiled|linked)"):
            getattr(lib.nn.Linear(2, 2), name)()
        assert isinstance(getattr(lib.nn.ReLU(), name)(), lib.nn.ReLU)


def test_streams() -> None:
    with pytest.raises(NotImplementedError, match="aten::record_stream"):
        nn.Linear(2, 2).weight.record_stream(None)


@pytest.mark.torch
def test_map2(torch: Any) -> None:
    for lib in (torch, wengert):
        x, y, z = lib.tensor([[1.0], [2.0]]), lib.ones(1), lib.full((2, 1), 3.0)
        assert x.map2_(y, z, lambda a, b, c: a + b * c) is x
        assert x.tolist() == [[4.0], [5.0]]
        with pytest.raises(TypeError):
            x.map2_(y, 1.0, lambda a, b, c: a)


def test_moving_to_the_cpu() -> None:
    x = wengert.ones(2)
    assert x.to("cpu") is x.to(wengert.device("cpu")) is x.to("cpu:0") is x
    assert wengert.device("cpu") == wengert.device("cpu", None) != wengert.device("cpu", 0)
    with pytest.raises(TypeError, match="must be int, not bool"):
        wengert.device("cpu", True)
