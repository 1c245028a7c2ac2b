"""Gradients per sample: against PyTorch's, and against one backward pass for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.compat._private.per_sample_gradients import call_for_per_sample_grads

MODELS = {
    "linear": (lambda nn: nn.Linear(3, 2), (4, 3)),
    "sequence": (lambda nn: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)), (4, 6, 3)),
    "convolution": (
        lambda nn: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(),
            nn.Linear(4 * 25, 3),
        ),
        (3, 2, 5, 5),
    ),
    "norm": (lambda nn: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)), (5, 3)),
}  # fmt: skip


def gradients(library: Any, call: Any, model: Any, x: Any, reduction: str) -> dict[str, Any]:
    out = call(model, loss_reduction=reduction)(library.tensor(x))
    loss = (out**2).flatten(1).sum(1)
    getattr(loss, reduction)().backward()
    assert all(p.grad is None for p in model.parameters())
    return {name: p.grad_sample.detach().numpy() for name, p in model.named_parameters()}


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", MODELS)
def test_as_pytorch(torch: Any, name: str, reduction: str) -> None:
    from torch.nn.utils._per_sample_grad import call_for_per_sample_grads as oracle

    make, shape = MODELS[name]
    torch.manual_seed(0)
    ours, theirs = make(nn).double(), make(torch.nn).double()
    ours.load_state_dict({k: wengert.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=shape)
    expected = gradients(torch, oracle, theirs, x, reduction)
    found = gradients(wengert, call_for_per_sample_grads, ours, x, reduction)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-9, atol=1e-12, err_msg=key)


def test_each_sample_alone() -> None:
    model = nn.Sequential(nn.Embedding(7, 3), nn.Linear(3, 2)).double()
    tokens = wengert.tensor([[1, 2], [3, 3], [0, 6]])
    call_for_per_sample_grads(model)(tokens).exp().sum().backward()
    for i, row in enumerate(tokens):
        alone = wengert.autograd.grad(model(row[None]).exp().sum(), list(model.parameters()))
        for parameter, gradient in zip(model.parameters(), alone, strict=True):
            assert wengert.allclose(parameter.grad_sample[i], gradient)


def test_batch_in_second_dimension() -> None:
    model = nn.Linear(3, 2)
    out = call_for_per_sample_grads(model, batch_first=False)(wengert.ones(5, 4, 3))
    assert out.shape == (5, 4, 2)
    out.sum().backward()
    assert model.weight.grad_sample.shape == (4, 2, 3)
    assert wengert.equal(model.bias.grad_sample, wengert.full((4, 2), 5.0))


def test_frozen_parameters_get_none_and_a_second_backward_adds() -> None:
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    out = call_for_per_sample_grads(model)(wengert.ones(4, 3)).sum()
    out.backward(retain_graph=True)
    out.backward()
    assert wengert.equal(model.weight.grad_sample, wengert.full((4, 2, 3), 2.0))
    assert not hasattr(model.bias, "grad_sample")


def test_bad_arguments() -> None:
    model = nn.Linear(3, 2)
    with pytest.raises(RuntimeError, match="sum or mean, got 'max'"):
        call_for_per_sample_grads(model, loss_reduction="max")
    with pytest.raises(RuntimeError, match=r"must be nn\.Module, got int"):
        call_for_per_sample_grads(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="None or an integer, got float"):
        call_for_per_sample_grads(model, batch_size=2.0)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="positive, got 0"):
        call_for_per_sample_grads(model, batch_size=0)
    with pytest.raises(RuntimeError, match=r"same size in dimension 0: got \[2, 3\]"):
        call_for_per_sample_grads(nn.Bilinear(3, 3, 1))(wengert.ones(2, 3), wengert.ones(3, 3))
    with pytest.raises(RuntimeError, match="Unable to find a tensor"):
        call_for_per_sample_grads(model)(1)
    call_for_per_sample_grads(model)(wengert.ones(4, 3)).sum().backward()
    with pytest.raises(RuntimeError, match="grad_sample of weight to None first"):
        call_for_per_sample_grads(model)
