"""Parameters that lie otherwise than in C order, such as channels-last weights."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.kernels.variants import needs_llvmlite
from wengert.kernels.jit.formulas import Formula

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01, "amsgrad": True},
    "RMSprop": {"lr": 0.01, "momentum": 0.5},
    "Adagrad": {"lr": 0.1},
    "NAdam": {"lr": 0.01},
}


def stepped(name: str, format: wengert.memory_format) -> list[wengert.Tensor]:
    """Parameters after some steps, one of them a vector, one with gaps."""
    wengert.manual_seed(0)
    whole = wengert.randn(24, 24, 3, 3).contiguous(memory_format=format)
    gaps = wengert.randn(20, 30, 5, 5).contiguous(memory_format=format)[:, 1:, 1:, 1:]
    params = [x.detach().requires_grad_(True) for x in (whole, wengert.randn(24), gaps)]
    optimizer = getattr(wengert.optim, name)(params, **OPTIMIZERS[name])
    for _ in range(4):
        optimizer.zero_grad()
        wengert.stack([(p.sin() * p.cos()).sum() for p in params]).sum().backward()
        optimizer.step()
    assert params[0].is_contiguous(memory_format=format)
    return params


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_parameters_in_c_order(name: str) -> None:
    found = stepped(name, wengert.channels_last)
    right = stepped(name, wengert.contiguous_format)
    for a, b in zip(found, right, strict=True):
        wengert.testing.assert_close(a.contiguous(), b.contiguous())


@needs_llvmlite
def test_a_kernel_updates_them(monkeypatch: pytest.MonkeyPatch) -> None:
    wengert.manual_seed(0)
    x = wengert.randn(64, 64, 3, 3).contiguous(memory_format=wengert.channels_last)
    x.requires_grad_(True)
    optimizer = wengert.optim.Adam([x])
    monkeypatch.setattr(Formula, "_by_numpy", None)
    for _ in range(3):
        x.square().sum().backward()
        optimizer.step()
