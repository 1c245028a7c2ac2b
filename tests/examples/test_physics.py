"""Newton's method finds the chain's parameters, by PyTorch's way there."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.examples.runs import after, run, same_on_pytorch

QUICK = ("--weights", "3", "--length", "60", "--noise", "0.01")


def test_finds_the_parameters() -> None:
    output = run("physics.py", *QUICK)
    assert after("relative difference", output)[0] < 1e-12
    residuals = after("residual", output)
    assert residuals == sorted(residuals, reverse=True)
    assert residuals[-1] == pytest.approx(0.01, rel=0.2)  # the noise
    assert after("gradient", output)[-1] < 1e-9
    found, truth = parameters(output)
    np.testing.assert_allclose(found, truth, rtol=0.03)


def parameters(output: str) -> np.ndarray:
    """The two columns of the table at the end."""
    rows = re.findall(r"^(?: +\d+ |friction) +([\d.]+) +([\d.]+)$", output, re.MULTILINE)
    assert len(rows) == 5, output
    return np.array(rows, dtype=float).T


@pytest.mark.torch
def test_iterations_are_pytorchs() -> None:
    labels = ("residual", "length")
    same_on_pytorch("physics.py", "--steps", "3", *QUICK, labels=labels, tolerance=1e-6)
