"""Pruning, against PyTorch with the same seed."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.nn.both import agree, batch, error, gradients, layer, state

CALLS = [
    ("identity", {}),
    ("l1_unstructured", {"amount": 0.4}),
    ("l1_unstructured", {"amount": 5}),
    ("random_unstructured", {"amount": 0.5}),
    ("random_unstructured", {"amount": 3}),
    ("random_structured", {"amount": 0.5, "dim": 0}),
    ("random_structured", {"amount": 2, "dim": 1}),
    ("ln_structured", {"amount": 0.5, "n": 2, "dim": 0}),
    ("ln_structured", {"amount": 1, "n": 1, "dim": -1}),
    ("ln_structured", {"amount": 2, "n": float("inf"), "dim": 0}),
]


def prune_of(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.nn.utils.prune")


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), CALLS)
def test_functions(torch: Any, name: str, options: dict[str, Any]) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = getattr(prune_of(lib), name)(layer(lib), "weight", **options)
        y = m(batch(lib))
        answers = [m, *state(m), m.weight, y, *gradients(m, y)]
        prune_of(lib).remove(m, "weight")
        return [*answers, *state(m), type(m.weight).__name__, prune_of(lib).is_pruned(m)]

    agree(torch, scenario)


@pytest.mark.torch
def test_methods_in_turn(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        prune, m = prune_of(lib), layer(lib)
        prune.l1_unstructured(m, "weight", 0.3)
        answers = state(m)
        prune.random_unstructured(m, "weight", 2)
        answers += state(m)
        prune.ln_structured(m, "weight", 1, n=2, dim=0)
        answers += state(m)
        prune.random_structured(m, "weight", 1, dim=1)
        prune.custom_from_mask(m, "weight", lib.ones(4, 3).tril())
        return [*answers, *state(m), m(batch(lib)), prune.is_pruned(lib.nn.Sequential(m))]

    agree(torch, scenario)


@pytest.mark.torch
def test_global_and_by_scores(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        prune = prune_of(lib)
        net = lib.nn.Sequential(layer(lib), layer(lib, "Linear", 4, 2))
        pairs = [(net[0], "weight"), (net[1], "weight")]
        prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.4)
        answers = state(net)
        prune.global_unstructured(pairs, prune.RandomUnstructured, amount=3)
        m = layer(lib)
        scores = lib.arange(12.0).reshape(4, 3)
        prune.l1_unstructured(m, "weight", 0.5, importance_scores=scores)
        alone = prune.L1Unstructured(amount=2).prune(lib.tensor([3.0, -1.0, 2.0]))
        return [*answers, *state(net), m.weight_mask, alone]

    agree(torch, scenario)


@pytest.mark.torch
def test_errors(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        prune, m = prune_of(lib), layer(lib)
        calls = [
            lambda: prune.ln_structured(m, "bias", 1, n=2, dim=0),
            lambda: prune.ln_structured(m, "weight", 1, n=2, dim=5),
            lambda: prune.remove(m, "weight"),
            lambda: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2),
            lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
            lambda: prune.l1_unstructured(m, "weight", 0.5, importance_scores=lib.ones(2)),
        ]
        for amount in ("a", -1, 1.5, 100, -0.2):
            calls.append(lambda a=amount: prune.l1_unstructured(layer(lib), "weight", a))
            calls.append(lambda a=amount: prune.random_unstructured(layer(lib), "weight", a))
            calls.append(lambda a=amount: prune.ln_structured(layer(lib), "weight", a, n=2, dim=0))
        return [error(call) for call in calls]

    agree(torch, scenario)
