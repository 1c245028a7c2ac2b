"""The variational autoencoder learns, with PyTorch's losses."""

from __future__ import annotations

import pytest

from tests.examples.runs import after, needs, run, same_on_pytorch

pytestmark = needs("sklearn")

QUICK = ("--width", "64", "--report", "1")


def test_learns() -> None:
    output = run("vae.py", "--epochs", "8", *QUICK)
    for label in ("training loss", "test loss", "(pixels"):
        losses = after(label, output)
        assert losses == sorted(losses, reverse=True)
    assert after("test loss", output)[-1] < 27.5
    assert after("codes", output)[-1] > 0.5  # codes say something
    assert "Six that nobody wrote" in output


@pytest.mark.torch
def test_losses_are_pytorchs() -> None:
    labels = ("training loss", "test loss", "(pixels", "codes")
    same_on_pytorch("vae.py", "--epochs", "1", *QUICK, labels=labels, tolerance=2e-3)
