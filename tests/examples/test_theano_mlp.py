"""The network of parameters and updates learns, with PyTorch's costs."""

from __future__ import annotations

import pytest

from tests.examples.runs import after, run, same_on_pytorch

QUICK = ("--layers", "256", "64", "32", "10", "--rounds", "2")


def test_learns() -> None:
    output = run("theano_mlp.py", "--steps", "100", *QUICK)
    assert after("largest difference", output)[0] < 1e-6
    costs = after("cost", output)
    assert costs[0] > 2
    assert costs[-1] < 0.2
    assert after("new pictures:", output)[0] > 90


@pytest.mark.torch
def test_costs_are_pytorchs() -> None:
    same_on_pytorch("theano_mlp.py", "--steps", "20", *QUICK, labels=("cost",), tolerance=1e-3)
