"""Optimizers and gradient clipping on tensors without elements: state has its shapes."""

from __future__ import annotations

from typing import Any

import pytest

import wengert

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "RMSprop": {}, "Adagrad": {},
    "Adadelta": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Rprop": {},
}  # fmt: skip


def trained(library: Any, name: str) -> list[Any]:
    model = library.nn.Linear(3, 4, device="meta")
    optimizer = getattr(library.optim, name)(model.parameters(), lr=0.1, **OPTIMIZERS[name])
    norms = []
    for _ in range(2):
        optimizer.zero_grad()
        model(library.ones(2, 3, device="meta")).sum().backward()
        norms.append(library.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        library.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
    state = [value for p in model.parameters() for value in optimizer.state[p].items()]
    tensors = [*sorted(state, key=lambda item: (item[0], item[1].shape)), *enumerate(norms)]
    counts = [value.item() for key, value in state if key == "step"]
    return counts + [(k, [*v.shape], v.stride(), str(v.dtype), str(v.device)) for k, v in tensors]


def muon(library: Any) -> list[Any]:
    matrix = library.nn.Parameter(library.empty(4, 3, device="meta"))
    optimizer = library.optim.Muon([matrix])
    for _ in range(2):
        matrix.grad = library.ones_like(matrix)
        optimizer.step()
    return [(k, [*v.shape], str(v.device)) for k, v in optimizer.state[matrix].items()]


@pytest.mark.torch
def test_muon_on_meta(torch: Any) -> None:
    assert muon(wengert) == muon(torch)


@pytest.mark.torch
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_on_meta(torch: Any, name: str) -> None:
    assert trained(wengert, name) == trained(torch, name)
