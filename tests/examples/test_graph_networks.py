"""Graph networks learn communities, and node embeddings neighbours, with PyTorch's losses."""

from __future__ import annotations

import pytest

from tests.examples.runs import after, run, same_on_pytorch

SMALL = ("--nodes", "120", "--steps", "31")


@pytest.mark.parametrize("model", ["gcn", "gat", "embedding"])
def test_learns(model: str) -> None:
    losses = after("loss", run("graph_networks.py", "--model", model, *SMALL))
    assert losses[-1] < losses[0] / 2


@pytest.mark.torch
@pytest.mark.parametrize(("model", "label"), [
    ("gcn", "accuracy"), ("gat", "accuracy"), ("embedding", "rows"),
])  # fmt: skip
def test_losses_are_pytorchs(model: str, label: str) -> None:
    same_on_pytorch(
        "graph_networks.py", "--model", model, *SMALL, labels=("loss", label), tolerance=2e-4
    )
