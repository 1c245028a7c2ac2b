"""The GAN learns to draw digits, with PyTorch's losses."""

from __future__ import annotations

import pytest

from tests.examples.runs import after, needs, run, same_on_pytorch

pytestmark = needs("sklearn")

QUICK = ("--width", "64", "--report", "1")


def test_samples_become_better() -> None:
    output = run("gan.py", "--epochs", "8", *QUICK)
    scores = after("score", output)
    real, noise, first, *_, last = scores
    assert real > 9
    assert noise < 4
    assert last > first + 1
    losses = after("discriminator's loss", output) + after("generator's loss", output)
    assert all(0.3 < loss < 3 for loss in losses)  # neither network has won
    assert "@" in output.splitlines()[-4]


@pytest.mark.torch
def test_losses_are_pytorchs() -> None:
    labels = ("discriminator's loss", "generator's loss")
    same_on_pytorch("gan.py", "--epochs", "1", *QUICK, labels=labels, tolerance=1e-3)
