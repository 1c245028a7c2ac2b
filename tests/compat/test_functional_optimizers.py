"""One step of an optimizer on lists of tensors: the same values and state as PyTorch's."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

import wengert
from wengert.compat._private import functional_optimizers

ADAM = {"amsgrad": True, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8,
        "maximize": False}  # fmt: skip
# Of each: how its lists of state begin (None: an empty list), and options.
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "adadelta": ([0, 0, "step"], {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1,
                                  "maximize": False}),
    "adagrad": ([0.5, "step"], {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8,
                                "maximize": True}),
    "adam": ([0, 0, 0, "step"], ADAM),
    "adamax": ([0, 0, "step"], {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1,
                                "weight_decay": 0.1}),
    "adamw": ([0, 0, None, "step"], ADAM | {"amsgrad": False}),
    "asgd": ([0, "one", "rate", "step"], {"lambd": 1e-2, "lr": 0.1, "t0": 1.0, "alpha": 0.75,
                                          "weight_decay": 0.1}),
    "nadam": ([0, 0, "one", "step"], {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1,
                                      "momentum_decay": 4e-3, "eps": 1e-8}),
    "radam": ([0, 0, "step"], {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1,
                               "eps": 1e-8}),
    "rmsprop": ([0, 0, 0, "step"], {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1,
                                    "momentum": 0.9, "centered": True}),
    "rprop": ([0, 0.1, "step"], {"step_size_min": 1e-6, "step_size_max": 50, "etaminus": 0.5,
                                 "etaplus": 1.2}),
    "sgd": (["nothing"], {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0,
                          "nesterov": True, "maximize": False}),
}  # fmt: skip


def stepped(torch: Any, function: Any, name: str) -> list[Any]:
    """Parameters and state after three steps."""
    starts, options = CASES[name]
    params = [torch.tensor([1.0, -2.0, 3.0]), torch.tensor([[0.5], [4.0]])]
    lists: list[list[Any]] = []
    for start in starts:
        if start is None:
            lists.append([])
        elif start == "nothing":
            lists.append([None for _ in params])
        elif isinstance(start, str):
            value = {"step": 0.0, "one": 1.0, "rate": 0.1}[start]
            lists.append([torch.tensor(value) for _ in params])
        else:
            lists.append([torch.full_like(p, start) for p in params])
    for k in range(3):
        grads = [p * (k + 1) - 0.5 for p in params]
        function(params, grads, *lists, **options)
        assert all(p.grad is None for p in params)
    return [x.tolist() for column in (params, *lists) for x in column]


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_steps(torch: Any, name: str) -> None:
    theirs = getattr(importlib.import_module(f"torch.optim.{name}"), name)
    found = stepped(wengert, getattr(functional_optimizers, name), name)
    for a, b in zip(found, stepped(torch, theirs, name), strict=True):
        wengert.testing.assert_close(wengert.tensor(a), wengert.tensor(b), rtol=2e-6, atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("name", functional_optimizers.__all__)
def test_signatures(torch: Any, name: str) -> None:
    module = f"torch.optim._{name}" if name in ("adafactor", "muon") else f"torch.optim.{name}"
    theirs = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    ours = inspect.signature(getattr(functional_optimizers, name)).parameters
    assert [*ours] == [*theirs]
    for ours_, theirs_ in zip(ours.values(), theirs.values(), strict=True):
        assert (ours_.kind, ours_.default) == (theirs_.kind, theirs_.default), ours_.name


def test_bad_input() -> None:
    one, options = wengert.ones(2), CASES["adam"][1]
    zeros = [wengert.zeros(2)]
    with pytest.raises(RuntimeError, match="singleton tensors"):
        functional_optimizers.adam([one], [one], zeros, zeros, zeros, [0], **options)
    steps = [wengert.tensor(0.0)]
    with pytest.raises(IndexError, match="1 params, but fewer tensors of state 'exp_avg'"):
        functional_optimizers.adam([one], [one], [], zeros, zeros, steps, **options)
    with pytest.raises(NotImplementedError, match=r"use optim\.Adam"):
        functional_optimizers.adam([one], [one], zeros, zeros, zeros, steps, differentiable=True,
                                   **options)  # fmt: skip
    with pytest.raises(TypeError, match="missing a required argument"):
        functional_optimizers.sgd([one], [one], [None])
